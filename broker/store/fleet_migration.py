"""Version 7 of the file: what belongs to many arms at once."""

_PLANS = (
    """CREATE TABLE plan (
        n INTEGER PRIMARY KEY, request_n INTEGER NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
        settled INTEGER NOT NULL, user TEXT NOT NULL, at_us INTEGER NOT NULL, asked BLOB NOT NULL,
        progress BLOB NOT NULL, reply_to BLOB NOT NULL, hash INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX plan_open ON plan (n) WHERE settled = 0",
    """CREATE TABLE plan_row (
        plan_n INTEGER NOT NULL, arm TEXT NOT NULL, state TEXT NOT NULL, final INTEGER NOT NULL, rev INTEGER NOT NULL,
        seq INTEGER NOT NULL, change_n INTEGER NOT NULL, job_rev INTEGER NOT NULL, error BLOB NOT NULL,
        hash INTEGER NOT NULL, PRIMARY KEY (plan_n, arm)
    ) STRICT, WITHOUT ROWID""",
)

_OVERRIDES = (
    """CREATE TABLE ground (
        arm TEXT NOT NULL, key TEXT NOT NULL, mode INTEGER NOT NULL, value BLOB NOT NULL, hash INTEGER NOT NULL,
        PRIMARY KEY (arm, key, mode)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE override (
        arm TEXT NOT NULL, rev INTEGER NOT NULL, body BLOB NOT NULL, hash INTEGER NOT NULL, PRIMARY KEY (arm, rev)
    ) STRICT, WITHOUT ROWID""",
)

_RECIPES = (
    """CREATE TABLE recipe (
        name TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, digest TEXT NOT NULL, note TEXT NOT NULL,
        user TEXT NOT NULL, conn TEXT NOT NULL, proven INTEGER NOT NULL, at_us INTEGER NOT NULL,
        listed INTEGER NOT NULL, hash INTEGER NOT NULL, PRIMARY KEY (name, version)
    ) STRICT, WITHOUT ROWID""",
)

FLEET_MIGRATION = (*_OVERRIDES, *_PLANS, *_RECIPES)
