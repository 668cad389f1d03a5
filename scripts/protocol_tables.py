"""What `docs/protocol.md` says of each field: texts beside the names that the service runs on.

`scripts/generate_protocol.py` refuses a name that is missing here or stands here in vain; a test compares documents and
results with a running service.
"""

Texts = dict[str, str]

TOPICS: tuple[tuple[str, str, str, str, str], ...] = (
    ("req/<user>/<conn>/<arm>/<method>", "client → service", "any", "never", "one request; `<method>` is its name, letter for letter"),
    ("res/<user>/<conn>/<leaf>", "service → client", "1", "no", "the reply; Message Expiry 300 s"),
    ("ntf/<user>/<conn>/<handle>", "service → client", "1", "no", "notices of a handle; Message Expiry 3,600 s; the payload is the event"),
    ("evt/<arm>/config/<EVENT>", "service → all", "1", "no", "configuration events, a topic for each event name"),
    ("evt/<arm>/mode", "service → all", "1", "no", "changes of the control mode"),
    ("evt/<arm>/outcome", "service → all", "1", "no", "CHANGE_NOT_APPLIED: an accepted change that did not become what was asked"),
    ("evt/<arm>/admin", "service → all", "1", "no", "who may change the arm, which arm it is, whom the rights refused"),
    ("evt/@all/{plan,recipe,settings}", "service → all", "1", "no", "what the fleet itself tells: arm `@all`, a `seq` of its own, `rev` 0"),
    ("state/<arm>/<document>", "service → all", "1", "yes", "`config`, `reported`, `mode`, `effective`, `presence`"),
    ("state/@all/plan-<n>", "service → all", "1", "yes", "a rollout, a proposal, or a change of a group that outlived its reply; the newest 256"),
    ("state/@<group>/fleet", "service → all", "1", "yes", "the summary of a group; at most one in 2 s, at most 4 KiB"),
    ("meta/<name>", "service → all", "1", "yes", "`service`, `errors`, `asyncapi`, `groups`, `factsheet/<arm>`"),
    ("svc/<instance>", "service → all", "1", "yes", "whether the service is there; also its will"),
    ("dev/<arm>/<leaf>", "arms that speak MQTT", "1", "birth, death", "see agent_protocol.md"),
)  # fmt: skip
"""Topic below `<root>/v1`, direction, QoS, retained, what it is."""

REQUEST: Texts = {
    "id": "1 to 64 of `[A-Za-z0-9_-]`, unique per user and connection; a whole number from 0 to 2^63 - 1 is taken as its decimal text. Absent: Correlation Data of 16 to 32 bytes serves, in hex. A write without either is refused (`id_missing`); reads and dry runs may go without",
    "params": "the message of the method; absent: empty",
    "if_rev": "only if the item (and slot) was not changed after this revision and the arm is not behind it; else `revision_conflict` with the present `rev`. Looked at once, when the request is accepted",
    "dry_run": "check everything, change nothing: stage `checked`",
    "wait": "`applied` (default) or `stored`: when the reply is sent. It comes 10 s after the request was stored at the latest",
    "issued_at_ms": "JSON and MessagePack: `issued_at`, RFC 3339 or ms since 1970. When the sender made the request; at most 5 s ahead of the service's clock",
    "ttl_ms": "1 to 300,000 (with `when: idle` to 604,800,000): how long after `issued_at`, else after receipt, the request may still begin; then `expired`. Absent: the Message Expiry that is left; for SetControlMode else 2,000",
    "valid_for_ms": "1,000 to 2,592,000,000, of Sets of items and batches: the change ends so long after it was stored, and what was in force below it counts again",
    "until_ms": "JSON and MessagePack: `until`, RFC 3339, 1 s to 30 d ahead; as `valid_for_ms`, with the end as a time. One of the two alone, and none of them from a client without a clock",
    "when": "`now` (default) or `idle`, of Sets of items and batches: the change waits until the arm is idle",
    "group": "`{all_or_nothing? false, away? wait, only? [arm], parallel? 32}` of a request to a group: whether all rows or none are accepted (at most 256), what becomes of arms that cannot take it now (`wait`, `refuse`, `skip`), 1 to 1,000 members alone, 1 to 256 rows under way at once",
    "reason": "at most 200 characters, no control and no direction-override characters; told in event and history",
    "unit": "`deg` or `rad`: an assertion, refused (`unit_mismatch`) unless it is the method's unit",
    "view": "of a Get: `reported` (default), `desired`, or `ground`: what is desired without overrides",
}
REPLY: Texts = {
    "id": "of the request; as far as it could be read if it is refused, else empty",
    "arm": "the arm level of the topic",
    "method": "the method level of the topic",
    "ok": "accepted, and nothing known is wrong",
    "stage": "how far it got: `refused`, `read`, `checked`, `stored`, `applied`",
    "final": "false: something may still come of it, as an event with this `request_id`; never as a second reply",
    "result": "the message of the result, if ok",
    "error": "if not ok",
    "warnings": "`{name, path?, message}`; names in errors.md",
    "rev": "the change's own revision; of reads, refusals, dry runs the arm's present one",
    "seq": "the sequence number of its event (0: none yet); of reads, refusals, dry runs the arm's present one",
    "duplicate": "true: the id was known, this is the outcome of the first",
    "in_force": "on repeats: whether what is desired still comes from this revision and the arm reports it",
    "at_us": "JSON and MessagePack: `at`, RFC 3339 UTC with microseconds",
    "reported_at_us": "JSON and MessagePack: `reported_at`; of Gets: when the arm was read",
    "desired": "of Gets: what is desired, where the arm reports something else",
    "pending_rev": "of Gets: the revision that is not settled yet",
    "mode_seen_at_us": "JSON and MessagePack: `mode_seen_at`; of GetControlMode",
    "plan": "the plan of a request to a group, or of a proposal",
    "until_us": "JSON and MessagePack: `until`; the end of the override that a change is, or that a value comes from",
}
ERROR: Texts = {
    "code": "number of `Kinova.Api.ErrorCodes`",
    "sub_code": "number of `Kinova.Api.SubErrorCodes`",
    "name": "its name",
    "kind": "ours, one for each cause; errors.md",
    "message": "words: field, value, bound, nearest legal value; absent of a client with short replies",
    "violations": "all that is out of bounds, lowest joint first",
    "retry": "`same_id`, `repeat`, `new_id`, `never`; errors.md",
    "retry_after_ms": "of `rate_limited`: when the next one will be taken",
    "kinova": "protobuf alone: a `Kinova.Api.Error`",
    "rule": "of refusals by the policy: the rule that came furthest",
}
VIOLATION: Texts = {
    "path": "the field, elements counted from 0: `joint_speed_soft_limits[4]`",
    "joint": "counted from 1; absent (0) where there is none",
    "joint_name": "its name",
    "got": "what was asked, in the request's unit",
    "bound": "what it violates, in the same unit",
    "unit": "the unit",
    "relation": "what should have held between them: `<=`, `>=`, `==`",
    "source": "where the bound comes from: `hard:device`, `hard:profile`, `urdf:<file>`, `policy:site`, ...",
    "suggest": "the whole nearest legal value of the field",
}
EVENT: Texts = {
    "arm": "the arm",
    "epoch": "the start in which the event was committed; it keeps it when it is sent again",
    "seq": "counts all events of the arm from 1 without a gap",
    "prev": "seq of the event before it on the same topic (in `ntf`: of the same handle); 0 at the first",
    "rev": "the revision it tells of",
    "at_us": "JSON and MessagePack: `at`; when it was committed",
    "cause": "`applied`, `unchanged`, `reset`, `foreign`; on `outcome`: `refused`, `overwritten`, `superseded`, `expired`, `discarded`",
    "stage": "`applied` or `refused`",
    "request_id": "`<user>/<conn>/<id>`; absent where no request is behind it",
    "by": "`{user, connection, proven}`; an arm's own change is by `@arm`; `proven`: whether the MQTT server vouches for the names",
    "event": "its name; errors.md lists all",
    "notification": "the Kinova message; null for our own events",
    "change": "`{item, slot?, before, after}`: of a slot the bare list or number, else the item's message; null where an arm only says that something happened",
    "reason": "of the request, or why it came otherwise",
    "kind": "of REQUEST_DENIED: the kind of the refusals",
    "count": "of REQUEST_DENIED: how many it stands for",
    "plan": "the plan that it belongs to",
    "until_us": "JSON and MessagePack: `until`; the end of the override that it tells of",
    "details": "what an event of its own form tells; protobuf: UTF-8 JSON",
}
SHARED: Texts = {
    "arm": "the arm",
    "svc": "the instance that published it; what it says is old while `svc/<instance>` says offline",
    "epoch": "the start in which it was made",
    "rev": "the arm's revision",
    "seq": "the last event that is folded in",
    "at": "when it was made",
}
"""Fields of every document below `state/`."""
DOCUMENTS: dict[str, Texts] = {
    "config": {
        "items": "what is desired: `{<item>: message | {<MODE>: value}}`",
        "pending": "what is not settled: `[{rev, item, slot?, since, state, why?}]`, state `accepted`, `writing`, `held` or `unknown`",
        "differs": "`item` or `item/slot` of each value that is not what the arm reports",
        "overrides": "changes with an end, absent without any: `[{rev, paths, since, until, left_ms, by, request_id, plan?, direction, state, ground: {path: value}}]`; direction `tightening`, `loosening` or `unordered`, state `live`, `covered` by a newer one, `returning`, or `overdue`: its return failed, or may not be written",
        "recipe": "the recipe that was applied last, for good: `{name, version, digest, rev, at, by, drift}`; `drift` names the paths whose reported value is not the recipe's; absent where none was",
    },
    "reported": {
        "items": "what the arm was read to hold, in the same form",
        "hard_limits": "a KinematicLimits; absent where the arm has none",
        "mode": "the control mode last seen",
        "firmware": "what the arm says of it",
        "read_at": "when it was read",
    },
    "mode": {
        "control_mode": "the mode last seen; null before",
        "mode_seen_at": "when",
        "desired": "the mode that was asked for, while it is another one",
        "by": "who asked for it",
    },
    "effective": {
        "joints": "names of the joints; lists of numbers are in their order",
        "units": "the unit of each quantity",
        "sources": "where numbers come from: `[{layer, source, by, since}]`",
        "other_modes": "by quantity `{values, from}`: all numbers of the modes that have none of their own; `from` is a place in `sources`, null in both: nothing limits it",
        "modes": "by control mode the quantities that differ from `other_modes`",
        "unknown_mode": "the tightest of all modes, where they differ",
    },
    "presence": {
        "state": "`online`, `offline`, `unknown` (never met), `held` (a person has to look: `why`)",
        "ready": "whether it takes changes now",
        "activity": "what it does: `idle`, `moving`, `local`, `fault`, `unknown` where its adapter cannot tell",
        "since": "since when it is in this state",
        "adapter": "the kind of arm",
        "model": "its model",
        "serial": "its serial number, once known",
        "joints": "how many",
        "session": "of arms that speak MQTT: their session",
        "authority": "`observe`, `advise`, `control`",
        "hold": "who holds the arm, since and until when, why",
        "why": "why it is held",
    },
}
SUMMARY: Texts = {
    "arms": "how many arms the group has",
    "online": "that are online",
    "ready": "that take changes now",
    "authority": "by authority: `{observe, advise, control}`",
    "held": "that are held: a person has to look",
    "locked": "that somebody locked",
    "faults": "whose activity is `fault`",
    "pending": "changes that have no end yet",
    "held_changes": "those of them that wait for a person",
    "differs": "arms that report something else than is desired",
    "overrides": "overrides that are live",
    "overdue": "returns of overrides that failed and are tried again",
    "next_end": "when the next override ends; absent without any",
    "recipes": "arms by the recipe that they had last, `{<name>@<version>: n}`: the 8 that most have",
    "recipe_drift": "arms that report something else than their recipe says",
    "plans": "numbers of the plans of this group that are live, the newest 16",
    "attention": "arms that somebody should look at: `[{arm, why}]`, 16 at most; why: `fault`, `overdue`, `held`, `differs`, in this order",
}
"""Fields of `state/@<group>/fleet` beside those of every document: arm `@<group>`, rev 0, seq of the fleet's events."""
SERVICE: Texts = {
    "state": "`starting`, `online`, `offline`",
    "since": "since when",
    "seen_at": "anew every 10 s; older than 30 s means offline, whatever `state` says",
    "version": "of the service",
    "epoch": "counts the starts; never given twice",
    "start": "a random id of this start",
    "counters": "what was counted since the start; names below",
    "clock": "`{state, seconds}`: `ok`, or how far the clock is from what can be right",
    "metrics": "while `online`: the numbers of metrics.md by name, those with several labels by one of them",
    "passed": "the last it says before it goes, when another takes over",
    "take_over": "it was started to take over from another",
}
"""Fields of `svc/<instance>`."""
META: Texts = {
    "meta/service": "`{name, version, protocol, epoch, root, instance, identity, methods, codecs, limits, payload_with_lists, features, policy?, service_version, notice}`",
    "meta/errors": "`{errors: [{kind, code, names, retry, text, remedy}]}`",
    "meta/asyncapi": "an AsyncAPI 3 document of all channels and methods; asyncapi.json is the same with examples, schemas/ has one JSON Schema a method",
    "meta/groups": "`{groups: {<name>: number of arms}}`",
    "meta/factsheet/<arm>": "`{arm, adapter, model, groups, serial?, joints: [{name, type}], hard_limits, resolution, methods, items, modes_settable, notes, ...}`",
}
BOUNDS: Texts = {
    "gravity_vector": "norm 9.81 m/s² within 2 %",
    "payload_information": "mass from 0 kg; a sum with the tool above the rating is a warning",
    "tool_configuration": "mass from 0 kg; x, y, z in m, theta in deg",
    "cartesian_reference_frame": "MIXED, TOOL or BASE",
    "joint_speed_soft_limits": "a number a joint, deg/s, from 0 to the joint's effective velocity outside of the soft limits",
    "joint_acceleration_soft_limits": "a number a joint, deg/s², from 0 to the joint's effective acceleration likewise",
    "twist_linear_soft_limit": "m/s, from 1e-6 (0 means unset on an arm: use Reset) to the bound",
    "twist_angular_soft_limit": "deg/s, from the least the arm can hold to the bound",
    "desired_linear_twist": "m/s, from 0 to the bound",
    "desired_angular_twist": "deg/s, from 0 to the bound",
    "desired_joint_speeds": "a number a joint, deg/s, from 0 to the bound",
    "control_mode": "one of the factsheet's `modes_settable`",
    "joint_limits": "rad; within hard limits, URDF and site caps; limits_service.md",
    "joint_safety": "soft ends within the hard ones, gains from 0; limits_service.md",
    "joint_parameters": "names and ranges as DescribeJointParameters tells them; limits_service.md",
}
"""What a Set of each item has to keep to, beside its effective limits."""
MAPPINGS: dict[str, tuple[str, str]] = {
    "DescribeJointParameters": (
        "`names?`",
        "`{parameters: {<name>: {type, given, read_only, unit?, from_value?, to_value?}}}`",
    ),
    "Explain": (
        "`quantity?, joint?, mode?`",
        "`{mode, numbers: [{quantity, joint?, value, unit, layer, source, by, since, stack}]}`",
    ),
    "CheckTrajectory": (
        "`times, positions, velocities?, accelerations?, joints?, mode?, check_mode?, limit?, skip?`",
        "`{within, mode, check_mode, points, count, first?, worst?, violations, more}`",
    ),
    "CheckCommand": (
        "`limiter, state, command, dt, joints?, mode?, check_mode?`, ... (limits_service.md)",
        "`{limited, mode, check_mode, limiter, command, reasons}`",
    ),
    "GetHistory": (
        "`after_rev?, before_rev?` (both exclusive)`, item?, limit?` (50, at most 500)",
        "`{changes: [{rev, seq, at, by, request_id, method, item, slot, before, after, reason, outcome, direction, until?, recipe?, plan?, approved_by?, returned_from?}], more, missing}`, newest first; no `direction` in entries of administration",
    ),
    "GetEvents": (
        "`after_seq, limit?`",
        "`{events, first_seq, head_seq, more, missing}`, oldest first; `missing: [{first, last}]` names what was damaged and cannot be told",
    ),
    "Diff": (
        "`from?` (what the arm reports)`, to, items?` (paths); a source is `{arm?, view?}`, `{arm?, rev}`, `{recipe, version?}` or `{items}`; to a group `after?, limit?` (100, at most 500) more",
        "`{same, count, differences: [{path, from, to, direction}], only_from, only_to}`; of a group `{rows: [{arm, same, count, paths} | {arm, kind, message}], counts: {same, differ, failed}, more}`: the first 8 paths, `counts` of all its arms",
    ),
    "Blame": (
        "`items?` (paths)",
        "`{values: [{path, part?, value, rev, at, by, method, reason?, request_id?, recipe?, plan?, approved_by?, until?}]}`",
    ),
    "PutRecipe": (
        "`name`, one of `items` (as in `config`) and `from`, `models?` [], `note?` (at most 1,000 characters), `if_version?` (0: there is none)",
        "`{name, version, digest, unchanged}`",
    ),
    "GetRecipe": ("`name, version?`", "`{name, version, items, models, note, digest, by, at, versions: [n]}`"),
    "ListRecipes": (
        "`prefix?, after?, limit?` (50, at most 500)",
        "`{recipes: [{name, version, models, note, digest, by, at, arms}], more}`, by name; `arms`: how many have this version as their last",
    ),
    "DeleteRecipe": ("`name, if_version?`", "`{}`"),
    "FindArms": (
        "`where?, show?` (at most 16 paths)`, after?, limit?` (100, at most 500); fleet.md",
        "`{arms: [{arm, model, presence, ready, activity, mode, authority, differs, pending, override, rev, recipe?, values?}], count, more}`, in order of id; `count` of all that match",
    ),
    "GetFleetHistory": (
        "`since?, until?, user?, item?, method?, plan?, outcome?, cursor?, limit?` (50, at most 500)",
        "`{changes, cursor, more}`, newest first: entries of GetHistory, each with `arm`; `more` may be true with few entries, for a page looks at 20,000 changes at most",
    ),
    "Rollout": (
        "`method, params, on_failure` (reverse or pause)`, canary?` 1`, waves?` [100]`, soak_ms?` 60,000`, gates?` all`, max_failed?` 0`, pause_after?` []`, confirm_within_ms?, row_within_ms?` 60,000",
        "the plan as in GetPlan, without params and rows; a dry run: `{waves, counts, rows, more}`",
    ),
    "GetPlan": (
        "`plan, arm?, state?, after?, limit?` (100, at most 500)",
        "`{plan, kind, state, outcome?, why?, by, approved_by?, request_id, target, method, params, digest, reason, at, until?, expires?, ended_at?, wave?, waves?, counts, rows, more}`, rows in order of arm; with `arm` its row alone, with its `error`",
    ),
    "ListPlans": (
        "`state?, kind?, user?, before?, limit?` (50, at most 500)",
        "`{plans, more}`, newest first, without params and rows",
    ),
    "SteerPlan": (
        "`plan`, `action`: pause, resume, abort, reverse, approve or reject; `reason?, digest?`",
        "`{plan, state}`",
    ),
    "WhoAmI": (
        "",
        "`{user, conn, codec, size, at, identity}`: what the service understood of the sender; any arm level",
    ),
    "ConfirmPending": ("`rev` or `all: true`", "`{}`"),
    "DiscardPending": ("`rev` or `all: true`", "`{}`"),
    "ConfirmArm": ("", "`{}`"),
    "RestoreFactory": ("", "`{items: {<item> or <item/slot>: outcome}}`; absent where the reply came before the end"),
    "ExtendOverride": (
        "`rev`, `plan` or `all: true`; `valid_for_ms` or `until`",
        "`{overrides: [{rev, until}]}`",
    ),
    "EndOverride": (
        "`rev`, `plan` or `all: true`; `direction?`: tightening, loosening or unordered; `keep?`",
        "`{ended: [rev], left: [rev]}`",
    ),
    "ApplyConfig": (
        "`items`: as in `config.items`; `partial?` (false)`, on_failure?` (`leave`, or `reverse`)",
        "`{items: {<path>: outcome}, left_out?: {<path>: {kind, message}}}`; of a dry run `items: {<path>: {direction, step, before, after}}`",
    ),
    "ApplyRecipe": (
        "`recipe, version?` (the newest)`, items?` (paths)`, partial?, on_failure?`",
        "as ApplyConfig, and `recipe: {name, version, digest}`",
    ),
    "RestoreRevision": (
        "`rev, items?` (paths; else what changed since)`, partial?, on_failure?`",
        "as ApplyConfig",
    ),
    "SetAuthority": ("`authority`: observe, advise or control; `reason?`", "`{}`"),
    "HoldArm": ("`reason, until?`", "`{}`"),
    "ReleaseArm": ("", "`{}`"),
    "SimFault": ("`fault, for_ms?, delay_ms?, item?, slot?, value?`", "`{}`"),
}
"""Params and result of the methods without a message."""
