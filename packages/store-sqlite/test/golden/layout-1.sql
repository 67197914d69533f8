-- A database as version 1 of the layout left it, with the prefix scrollback_. Never changed: databases like it exist.
PRAGMA journal_mode = WAL;
CREATE TABLE scrollback_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO scrollback_schema VALUES (1);
CREATE TABLE scrollback_threads (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  epoch TEXT NOT NULL,
  commits INTEGER NOT NULL,
  pinned INTEGER,
  first INTEGER NOT NULL,
  next INTEGER NOT NULL,
  expires_at INTEGER,
  metadata ANY
) STRICT;
CREATE INDEX scrollback_threads_expiry ON scrollback_threads (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE scrollback_messages (
  thread INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  record ANY NOT NULL,
  PRIMARY KEY (thread, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE scrollback_operations (
  thread INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (thread, slot)
) STRICT, WITHOUT ROWID;

INSERT INTO scrollback_threads VALUES
  (1, 'plain', 'epochOfThePlain0', 3, NULL, 1, 4, NULL, '1m{"title":"Plain"}'),
  (2, 'trimmed', 'epochOfTrimmed00', 66, 1, 65, 67, NULL, NULL),
  (3, 'expired', 'epochOfExpired00', 1, NULL, 1, 2, 1000, NULL),
  (4, 'expiring', 'epochOfExpiring0', 1, NULL, 1, 2, 4102444800000, NULL);
INSERT INTO scrollback_messages VALUES
  (1, 1, '1u{"role":"user","content":"one"}'),
  (1, 2, '1o{"role":"assistant","content":"two"}'),
  (1, 3, '1u{"role":"user","content":"three"}'),
  (2, 1, '1s{"role":"system","content":"Be brief."}'),
  (2, 65, '1u{"role":"user","content":"sixty-five"}'),
  (2, 66, '1o{"role":"assistant","content":"sixty-six"}'),
  (3, 1, '1u{"role":"user","content":"long gone"}'),
  (4, 1, '1u{"role":"user","content":"still here"}');
INSERT INTO scrollback_operations VALUES
  (1, 1, 1, 'first-of-plain', 'digestOfTheFirstOne-01'),
  (1, 2, 2, 'second-of-plain', 'digestOfTheSecondOne02'),
  (1, 3, 3, 'third-of-plain', 'digestOfTheThirdOne-03'),
  (3, 1, 1, 'first-of-expired', 'digestOfTheExpired--04'),
  (4, 1, 1, 'first-of-expiring', 'digestOfTheExpiring-05');
WITH RECURSIVE number (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM number WHERE n < 66)
  INSERT INTO scrollback_operations SELECT 2, n % 64, n, 'trimmed-' || n, 'digestOfTheTrimmed-' || substr('000' || n, -3) FROM number;
