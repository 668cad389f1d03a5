// The strict rules of the range limiter as a straightforward loop over joints, for comparison with limits/ros2.
#include <algorithm>
#include <cmath>
#include <limits>

struct Limits {
    double lower, upper, velocity, acceleration, slowing, effort, jerk;
};

struct Values {
    double position, velocity, effort, acceleration, jerk;
};

struct Reasons {
    unsigned char position, velocity, effort, acceleration, jerk;
};

enum Reason : unsigned char { NONE, HARD_POSITION, MAX_VELOCITY, MAX_ACCELERATION, MAX_DECELERATION, MAX_JERK, MAX_EFFORT };

static double limit(double wanted, double lower, double upper) { return std::min(std::max(wanted, lower), upper); }

static unsigned char symmetric(double& value, double most, Reason reason) {
    const double result = limit(value, -most, most);
    const bool changed = result != value;
    value = result;
    return changed ? reason : NONE;
}

static unsigned char limit_position(const Limits& hard, double position, double velocity, double last, double dt,
                                    double& wanted) {
    const double reference = limit(std::isnan(last) ? position : last, hard.lower, hard.upper);
    const double step = std::min(hard.velocity, std::fabs(velocity) + hard.acceleration * dt) * dt;
    const double lower = std::max(hard.lower, reference - step), upper = std::min(hard.upper, reference + step);
    const double result = limit(wanted, lower, upper);
    if (result == wanted) return NONE;
    wanted = result;
    return result == hard.lower || result == hard.upper ? HARD_POSITION : MAX_VELOCITY;
}

static unsigned char limit_velocity(const Limits& hard, double position, double velocity, double last, double dt,
                                    double& wanted) {
    const double low = std::min((hard.lower - position) / dt, 0.0), high = std::max((hard.upper - position) / dt, 0.0);
    const double least = std::max(-hard.velocity, low), most = std::min(hard.velocity, high);
    const double start = std::isnan(last) ? velocity : last, change = hard.acceleration * dt;
    const double lower = limit(start - change, least, most), upper = limit(start + change, least, most);
    const double result = limit(wanted, lower, upper);
    if (result == wanted) return NONE;
    wanted = result;
    if (std::fabs(result) == hard.velocity) return MAX_VELOCITY;
    return result == low || result == high ? HARD_POSITION : MAX_ACCELERATION;
}

static unsigned char limit_effort(const Limits& hard, double position, double velocity, double& wanted) {
    const bool no_negative = (position <= hard.lower && velocity <= 0.0) || velocity < -hard.velocity;
    const bool no_positive = (position >= hard.upper && velocity >= 0.0) || velocity > hard.velocity;
    const double result = limit(wanted, no_negative ? 0.0 : -hard.effort, no_positive ? 0.0 : hard.effort);
    if (result == wanted) return NONE;
    wanted = result;
    if (std::fabs(result) == hard.effort) return MAX_EFFORT;
    return position <= hard.lower || position >= hard.upper ? HARD_POSITION : MAX_VELOCITY;
}

static unsigned char limit_acceleration(const Limits& hard, double velocity, double& wanted) {
    const bool against = (wanted < 0.0 && velocity > 0.0) || (wanted > 0.0 && velocity < 0.0);
    return symmetric(wanted, against ? hard.slowing : hard.acceleration, against ? MAX_DECELERATION : MAX_ACCELERATION);
}

// Returns the first joint whose position state is too far outside, or -1; `command` and `last` are changed in place.
extern "C" int limit_joints(int joints, const Limits* limits, const double* position, const double* velocity,
                            Values* last, Values* command, Reasons* reasons, double tolerance, double dt) {
    for (int at = 0; at < joints; ++at) {
        if (position[at] < limits[at].lower - tolerance || position[at] > limits[at].upper + tolerance) return at;
    }
    for (int at = 0; at < joints; ++at) {
        const Limits& hard = limits[at];
        Values& wanted = command[at];
        reasons[at].position = limit_position(hard, position[at], velocity[at], last[at].position, dt, wanted.position);
        reasons[at].velocity = limit_velocity(hard, position[at], velocity[at], last[at].velocity, dt, wanted.velocity);
        reasons[at].effort = limit_effort(hard, position[at], velocity[at], wanted.effort);
        reasons[at].acceleration = limit_acceleration(hard, velocity[at], wanted.acceleration);
        reasons[at].jerk = symmetric(wanted.jerk, hard.jerk, MAX_JERK);
        last[at] = wanted;
    }
    return -1;
}
