-- Scrollback's tables.
--
-- In each file of this folder "scrollback" stands for the schema: the stores' setup() and setupScript() put another one in its
-- place. Apply the files in the order of their numbers, each in a transaction of its own.
--
-- Each row belongs to a tenant: the setting scrollback.tenant of the connection that wrote it, or '' without one. Texts have two
-- characters in place of what PostgreSQL's texts cannot hold, or what separates them here: U+001A and a digit: 0 for U+0000, 1 for U+001E, 2 for
-- U+001A. There are no foreign keys: each would cost an insert a search, and the functions keep the tables together. Each table has a primary key,
-- by which publications identify deleted rows.

-- One row per thread, as its newest commit left it. An expired thread counts as absent; sweep_v1() removes its rows. No index has a column
-- that a commit changes, so that commits are HOT updates.
CREATE TABLE "scrollback".threads (
  tenant text COLLATE "C" NOT NULL CHECK (octet_length(tenant) <= 128 AND strpos(tenant, chr(30)) = 0),
  id text COLLATE "C" NOT NULL,
  -- Identifies the thread from its first commit until it expires or is deleted.
  life text COLLATE "C" NOT NULL,
  -- The number of commits, and random characters of the newest one: a rollback gives back the number, but not these.
  number bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  -- Until then a request to a deleted thread of this id may come again.
  preceded_until timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  expires_at timestamptz,
  -- The messages have the sequence numbers from `first` to `next` - 1. Before them are at most two that trimming kept: a leading system
  -- message and a compaction item.
  first bigint NOT NULL,
  next bigint NOT NULL,
  pinned bigint,
  compaction bigint,
  -- What trimming knows, so that it looks at no message twice: the messages from `first` to `userless` - 1 are not of the user, those up to
  -- `startless` - 1 cannot begin the thread; the newest compaction item, or 0.
  userless bigint NOT NULL,
  startless bigint NOT NULL,
  newest_compaction bigint NOT NULL,
  metadata text,
  -- Until then a change of the thread sends a notification; see watch_v1.
  watched_until timestamptz,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70);

-- One row per message. The text is JSON, unless the stores have another codec.
CREATE TABLE "scrollback".messages (
  tenant text COLLATE "C" NOT NULL,
  life text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  -- A letter, for trimming: s for a system message, u for a user's, t for a tool result, c for a tool call or reasoning alone, b for both, k for
  -- a compaction item, o for any other.
  kind text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (tenant, life, sequence)
);

-- The commits that a repeated request must not make again: the newest 64 of each thread, and those of the last 10 seconds.
CREATE TABLE "scrollback".operations (
  tenant text COLLATE "C" NOT NULL,
  life text COLLATE "C" NOT NULL,
  -- The SHA-256 of the operation id.
  operation bytea NOT NULL,
  number bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (tenant, life, operation)
);

-- The deletions of the last 10 seconds, for repeated requests. Later ones remove the older ones; so does sweep_v1().
CREATE TABLE "scrollback".deletions (
  tenant text COLLATE "C" NOT NULL,
  -- The SHA-256 of the thread's id.
  thread bytea NOT NULL,
  -- The SHA-256 of the operation id.
  operation bytea NOT NULL,
  -- Of the deleted thread; '' if there was none.
  life text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (tenant, thread, operation, life)
);

-- One row per entry of an index. The key of a B-tree has at most 2,704 bytes, and names have up to 1,024 each: so the primary key is a
-- digest, and the order is indexed by its beginning. No index begins with the tenant: a plan that was made when the table was empty, or for
-- small tenants, could use it for any search, and would read all entries of the tenant. No tenant and no name has a U+001E.
CREATE TABLE "scrollback".entries (
  tenant text COLLATE "C" NOT NULL CHECK (octet_length(tenant) <= 128 AND strpos(tenant, chr(30)) = 0),
  -- The tenant, a U+001E, and a digest of name, key and id.
  place text COLLATE "C" PRIMARY KEY CHECK (starts_with(place, tenant || chr(30))),
  name text COLLATE "C" NOT NULL,
  key text NOT NULL,
  id text NOT NULL,
  sort text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  value text NOT NULL,
  expires_at timestamptz,
  dimensions integer,
  vectors real[],
  scope text COLLATE "C" NOT NULL GENERATED ALWAYS AS (tenant || chr(30) || name) STORED
);
CREATE INDEX entries_sort ON "scrollback".entries (scope, left(sort, 96));
CREATE INDEX entries_expiry ON "scrollback".entries (scope, expires_at) WHERE expires_at IS NOT NULL;
