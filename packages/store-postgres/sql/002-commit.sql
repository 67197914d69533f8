-- The functions that the stores call. The number in a name is the version of its arguments and results: a newer package creates further
-- functions, and a process with an older one goes on with its own.
--
-- They run with the caller's rights, so that policies of row-level security apply. Each statement in them sees what was committed before it,
-- so they lock the thread's row first and look up after. They wait for a lock for at most 3 seconds; the stores wait for a reply for 4.
-- Conflicts, repeats and refusals are results, not errors, so that the caller's transaction stays usable. Each search of theirs is one of an
-- index, also in a table that grew since it was last analyzed: so plans are made once, and without sequential scans. They are short, so they
-- are not compiled: before version 18 the server takes a sequential scan that it cannot avoid for so expensive that it compiles each time.
--
-- Each function fixes its search_path: functions and operators that another role made in a schema of the caller's path would run with the
-- caller's rights if their arguments fit better than those of PostgreSQL.

-- Fails because a row of a table cannot be seen or written, though no statement failed: a policy of row-level security hides it from the caller,
-- or a trigger leaves the write out.
CREATE FUNCTION "scrollback".hidden_v1(p_table text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'a policy or a trigger hides a row of the table %, or leaves its write out', p_table
    USING ERRCODE = 'SB001', TABLE = p_table;
END
$$;

-- Returns the tenant of the connection. Fails if its texts arrive as others: clients send UTF-8 whatever the connection is set to.
CREATE FUNCTION "scrollback".tenant_v1() RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_client_encoding() <> 'UTF8' THEN
    RAISE EXCEPTION 'client_encoding is %, and must be UTF8', pg_client_encoding() USING ERRCODE = 'SB002';
  END IF;
  RETURN coalesce(current_setting('scrollback.tenant', true), '');
END
$$;

-- Removes the messages of a life from p_from to p_next - 1, without two that stay. p_count is the number that there must be: a damaged thread
-- has others, so what is left decides.
CREATE FUNCTION "scrollback".remove_v1(
  p_tenant text, p_life text, p_from bigint, p_next bigint, p_pinned bigint, p_compaction bigint, p_count bigint
) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_count bigint;
BEGIN
  DELETE FROM "scrollback".messages WHERE tenant = p_tenant AND life = p_life AND sequence >= p_from AND sequence < p_next
    AND sequence IS DISTINCT FROM p_pinned AND sequence IS DISTINCT FROM p_compaction;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  IF v_count <> p_count AND EXISTS (SELECT FROM "scrollback".messages
    WHERE tenant = p_tenant AND life = p_life AND sequence >= p_from AND sequence < p_next
      AND sequence IS DISTINCT FROM p_pinned AND sequence IS DISTINCT FROM p_compaction) THEN
    PERFORM "scrollback".hidden_v1('messages');
  END IF;
END
$$;

-- Makes a commit.
--
-- p_life       for a thread that this commit begins; its first characters make the revision of this commit unique
-- p_expected   the revision that the thread must have; '' if it must not exist; NULL for any
-- p_drop       the number of messages to drop from the end; -1 for all
-- p_texts      the texts of the messages to append, with U+001E between two; NULL for none
-- p_kinds      one letter per message
-- p_times      the times of the messages, in milliseconds since 1970, with commas between them; NULL if each is p_updated
-- p_metadata   the text of the metadata; '' to remove it; NULL to keep it
-- p_max        the number of messages to trim the thread to; NULL for no trimming
-- p_exact      whether exactly so many stay; otherwise trimming by turns
-- p_ttl        in milliseconds; NULL: the thread never expires
-- p_created    for a thread that this commit begins, in milliseconds since 1970
-- p_updated    likewise, for any
--
-- Returns the outcome ('committed', 'repeated', 'revision-conflict', 'operation-conflict'), a space, and a revision: of this commit, of the
-- first one with this operation id, or of the thread; '' if it does not exist.
CREATE FUNCTION "scrollback".commit_v1(
  p_id text, p_operation text, p_digest text, p_life text, p_expected text,
  p_drop bigint, p_texts text, p_kinds text, p_times text, p_metadata text,
  p_max bigint, p_exact boolean, p_ttl bigint, p_created bigint, p_updated bigint
) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '3s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_tenant CONSTANT text := "scrollback".tenant_v1();
  v_operation CONSTANT bytea := sha256(convert_to(p_operation, 'UTF8'));
  v_tag CONSTANT text := left(p_life, 8);
  v_updated CONSTANT timestamptz := to_timestamp(p_updated::float8 / 1000);
  v_thread bytea;
  v_last record;
  v_known record;
  v_now timestamptz;
  v_is_there boolean;
  v_is_alive boolean;
  v_looks boolean := false;
  v_attempts int := 0;
  v_revision text;
  v_life text := p_life;
  v_number bigint := 1;
  v_first bigint := 1;
  v_next bigint := 1;
  v_kept bigint;
  v_count bigint;
  v_written bigint;
  v_pinned bigint;
  v_compaction bigint;
  v_userless bigint := 1;
  v_startless bigint := 1;
  v_newest bigint := 0;
  v_cut bigint;
  v_from bigint;
  v_follows boolean;
  v_sequence bigint;
  v_kind text;
BEGIN
  -- Each further attempt follows a write of another transaction between two statements of this one: far fewer than 100.
  LOOP
    v_attempts := v_attempts + 1;
    IF v_attempts > 100 THEN
      PERFORM "scrollback".hidden_v1(CASE WHEN v_is_there THEN 'operations' ELSE 'threads' END);
    END IF;
    SELECT life, number, tag, preceded_until, updated_at, expires_at, first, next, pinned, compaction, userless, startless,
      newest_compaction, watched_until INTO v_last
    FROM "scrollback".threads WHERE tenant = v_tenant AND id = p_id FOR UPDATE;
    v_is_there := FOUND;
    v_now := clock_timestamp();
    v_is_alive := v_is_there AND v_last.number > 0 AND (v_last.expires_at IS NULL OR v_last.expires_at > v_now);
    v_revision := CASE WHEN v_is_alive THEN v_last.life || '.' || v_last.number || '-' || v_last.tag ELSE '' END;

    -- In most commits the insert below is what looks the operation up.
    IF v_looks OR NOT v_is_alive OR v_last.preceded_until > v_now OR p_expected <> v_revision THEN
      v_thread := sha256(convert_to(p_id, 'UTF8'));
      SELECT life, number, tag, digest INTO v_known FROM "scrollback".operations
      WHERE tenant = v_tenant AND operation = v_operation AND life = ANY (ARRAY(
        SELECT CASE WHEN v_is_alive THEN v_last.life END
        UNION ALL
        SELECT life FROM "scrollback".deletions
        WHERE tenant = v_tenant AND thread = v_thread AND at > v_now - interval '10 s'
      )) LIMIT 1;
      IF FOUND THEN
        IF v_last.number = 0 THEN
          DELETE FROM "scrollback".threads WHERE tenant = v_tenant AND id = p_id;
          IF NOT FOUND THEN
            PERFORM "scrollback".hidden_v1('threads');
          END IF;
        END IF;
        RETURN CASE WHEN v_known.digest = p_digest THEN 'repeated ' || v_known.life || '.' || v_known.number || '-' || v_known.tag
          ELSE 'operation-conflict ' || v_revision END;
      END IF;
      IF p_expected <> v_revision THEN
        RETURN 'revision-conflict ' || v_revision;
      END IF;
    END IF;

    IF v_is_there THEN
      IF v_is_alive THEN
        v_life := v_last.life;
        v_number := v_last.number + 1;
      ELSE
        PERFORM "scrollback".remove_v1(v_tenant, v_last.life, 0, 9223372036854775807, NULL, NULL,
          v_last.next - v_last.first + (v_last.pinned IS NOT NULL)::int + (v_last.compaction IS NOT NULL)::int);
        DELETE FROM "scrollback".operations WHERE tenant = v_tenant AND life = v_last.life;
        IF EXISTS (SELECT FROM "scrollback".operations WHERE tenant = v_tenant AND life = v_last.life) THEN
          PERFORM "scrollback".hidden_v1('operations');
        END IF;
      END IF;
      INSERT INTO "scrollback".operations (tenant, life, operation, number, tag, digest, at)
      VALUES (v_tenant, v_life, v_operation, v_number, v_tag, p_digest, v_now) ON CONFLICT DO NOTHING;
      EXIT WHEN FOUND;
      v_looks := true;
    ELSE
      -- What came before the row, or an instant before that of another transaction, is looked up again.
      INSERT INTO "scrollback".threads
        (tenant, id, life, number, tag, created_at, updated_at, first, next, userless, startless, newest_compaction)
      VALUES (v_tenant, p_id, p_life, 0, '', to_timestamp(p_created::float8 / 1000), v_updated, 1, 1, 1, 1, 0)
      ON CONFLICT DO NOTHING;
    END IF;
  END LOOP;

  IF v_is_alive THEN
    v_first := v_last.first;
    v_next := v_last.next;
    v_pinned := v_last.pinned;
    v_compaction := v_last.compaction;
    v_userless := v_last.userless;
    v_startless := v_last.startless;
    v_newest := v_last.newest_compaction;
  END IF;

  -- Drop.
  IF p_drop <> 0 THEN
    v_count := v_next - v_first + (v_pinned IS NOT NULL)::int + (v_compaction IS NOT NULL)::int;
    IF p_drop < 0 THEN
      v_cut := 0;
      v_pinned := NULL;
      v_compaction := NULL;
      v_first := v_next;
    ELSIF v_next - v_first < p_drop THEN
      v_cut := coalesce(v_pinned, v_compaction, v_first);
      IF v_next - v_first < p_drop - 1 OR v_compaction IS NULL THEN
        v_pinned := NULL;
      END IF;
      v_compaction := NULL;
      v_next := v_first;
    ELSE
      v_next := v_next - p_drop;
      v_cut := v_next;
    END IF;
    PERFORM "scrollback".remove_v1(v_tenant, v_life, v_cut, 9223372036854775807, v_pinned, NULL,
      v_count - (v_next - v_first + (v_pinned IS NOT NULL)::int + (v_compaction IS NOT NULL)::int));
  END IF;

  v_from := coalesce(v_pinned, v_compaction, v_first);

  -- Append.
  v_kept := v_next;
  v_next := v_kept + length(p_kinds);
  v_userless := least(v_userless, v_kept);
  v_startless := least(v_startless, v_kept);
  IF v_next > v_kept THEN
    INSERT INTO "scrollback".messages (tenant, life, sequence, kind, created_at, text)
    SELECT v_tenant, v_life, v_kept + place - 1, kind, coalesce(to_timestamp(time::float8 / 1000), v_updated), text
    FROM unnest(string_to_array(p_texts, chr(30)), string_to_array(p_kinds, NULL), string_to_array(p_times, ','))
      WITH ORDINALITY AS appended (text, kind, time, place);
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written <> v_next - v_kept THEN
      PERFORM "scrollback".hidden_v1('messages');
    END IF;
  END IF;

  -- The newest compaction item: an appended one, or the known one, or an older one if that was dropped.
  IF strpos(p_kinds, 'k') > 0 THEN
    v_newest := v_next - strpos(reverse(p_kinds), 'k');
  ELSIF v_newest >= v_kept OR v_newest > 0 AND v_newest < v_first AND v_newest IS DISTINCT FROM v_compaction THEN
    SELECT coalesce(max(sequence), v_compaction, 0) INTO v_newest FROM "scrollback".messages
    WHERE tenant = v_tenant AND life = v_life AND sequence >= v_first AND sequence < v_kept AND kind = 'k';
  END IF;

  -- Trim, like trim in store-core's trimming.ts.
  v_count := v_next - v_first + (v_pinned IS NOT NULL)::int + (v_compaction IS NOT NULL)::int;
  IF v_count > p_max THEN
    IF p_exact THEN
      v_pinned := NULL;
      -- The newest messages may include the second of two that were kept.
      IF v_compaction IS NULL OR v_next - p_max >= v_first THEN
        v_compaction := NULL;
        v_first := v_next - p_max;
        v_newest := CASE WHEN v_newest < v_first THEN 0 ELSE v_newest END;
      END IF;
    ELSE
      IF p_max < 2 THEN
        v_pinned := NULL;
      ELSIF v_pinned IS NULL AND v_compaction IS NULL THEN
        SELECT sequence INTO v_pinned FROM "scrollback".messages
        WHERE tenant = v_tenant AND life = v_life AND sequence = v_first AND kind = 's';
      END IF;
      v_cut := v_next - p_max + (v_pinned IS NOT NULL)::int;
      v_cut := v_cut + (v_newest > 0 AND v_newest < v_cut)::int;
      v_userless := greatest(v_cut, v_userless);
      SELECT sequence INTO v_sequence FROM "scrollback".messages
      WHERE tenant = v_tenant AND life = v_life AND sequence >= v_userless AND kind = 'u' ORDER BY sequence LIMIT 1;
      IF FOUND THEN
        v_userless := v_sequence;
        v_first := v_userless;
      ELSE
        v_userless := v_next;
        v_startless := greatest(v_cut, v_startless);
        v_follows := v_startless > v_first AND EXISTS (SELECT FROM "scrollback".messages
          WHERE tenant = v_tenant AND life = v_life AND sequence = v_startless - 1 AND kind IN ('c', 'b'));
        v_kind := NULL;
        FOR v_sequence, v_kind IN SELECT sequence, kind FROM "scrollback".messages
          WHERE tenant = v_tenant AND life = v_life AND sequence >= v_startless ORDER BY sequence
        LOOP
          EXIT WHEN NOT v_follows AND v_kind NOT IN ('t', 'b');
          v_follows := v_kind IN ('c', 'b');
          v_startless := v_sequence + 1;
        END LOOP;
        -- Only the newest message can be behind the last tool result, tool call and reasoning.
        IF v_startless >= v_next AND v_cut < v_next THEN
          SELECT v_next - (kind NOT IN ('t', 'b', 'c'))::int INTO v_startless FROM "scrollback".messages
          WHERE tenant = v_tenant AND life = v_life AND sequence = v_next - 1;
        END IF;
        v_first := v_startless;
      END IF;
      v_compaction := CASE WHEN v_newest > 0 AND v_newest < v_first THEN v_newest END;
    END IF;
  END IF;

  IF v_from < v_first THEN
    -- From the first message that there was: a search from 0 would pass over the index entries of all deleted ones.
    PERFORM "scrollback".remove_v1(v_tenant, v_life, v_from, v_first, v_pinned, v_compaction,
      v_count - (v_next - v_first + (v_pinned IS NOT NULL)::int + (v_compaction IS NOT NULL)::int));
  END IF;
  UPDATE "scrollback".threads SET
    life = v_life, number = v_number, tag = v_tag,
    preceded_until = CASE WHEN v_is_alive THEN preceded_until ELSE (
      SELECT max(at) + interval '10 s' FROM "scrollback".deletions WHERE tenant = v_tenant AND thread = v_thread
    ) END,
    created_at = CASE WHEN v_is_alive THEN created_at ELSE to_timestamp(p_created::float8 / 1000) END,
    updated_at = v_updated,
    expires_at = CASE WHEN p_ttl IS NOT NULL
      THEN to_timestamp(least(round(extract(epoch FROM v_now) * 1000) + p_ttl, 9007199254740991) / 1000.0) END,
    first = v_first, next = v_next, pinned = v_pinned, compaction = v_compaction,
    userless = v_userless, startless = v_startless, newest_compaction = v_newest,
    metadata = CASE WHEN p_metadata IS NOT NULL THEN nullif(p_metadata, '') WHEN v_is_alive THEN metadata END
  WHERE tenant = v_tenant AND id = p_id;
  IF NOT FOUND THEN
    PERFORM "scrollback".hidden_v1('threads');
  END IF;
  -- A busy thread has many rows of the last 10 seconds, so they are searched at most once a second there, and at each 512th commit.
  IF v_number % 16 = 0 AND date_trunc('second', v_last.updated_at) <> date_trunc('second', v_updated) OR v_number % 512 = 0 THEN
    DELETE FROM "scrollback".operations
    WHERE tenant = v_tenant AND life = v_life AND number <= v_number - 64 AND at < v_now - interval '10 s';
    IF EXISTS (SELECT FROM "scrollback".operations
      WHERE tenant = v_tenant AND life = v_life AND number <= v_number - 64 AND at < v_now - interval '10 s') THEN
      PERFORM "scrollback".hidden_v1('operations');
    END IF;
  END IF;
  IF v_last.watched_until > v_now THEN
    PERFORM "scrollback".notify_v1(v_last.life);
  END IF;
  RETURN 'committed ' || v_life || '.' || v_number || '-' || v_tag;
END
$$;
