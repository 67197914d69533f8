-- Reading, listing and deleting threads, and the removal of what has expired.

-- Reads a thread: no row if it does not exist, otherwise
--   0, its head: revision, first, next, pinned or 0, compaction or 0, newest compaction or 0, created, updated and expiry (or 0) in
--      milliseconds since 1970, with spaces between them
--   -1, the text of its metadata, if p_metadata and there is one
--   and the wanted messages: sequence number, kind, time in milliseconds since 1970 and text, in any order.
--   -2, last, if p_bytes ends them early: the guard of the rest, for read_on_v1.
--
-- p_limit      the number of messages: the newest, or with p_after the first ones
-- p_before, p_after   only messages with a smaller, or a larger sequence number
-- p_bytes      ends the messages once they have as many bytes, each with 100 more for its row; NULL for no end
CREATE FUNCTION "scrollback".read_v1(p_id text, p_limit bigint, p_before bigint, p_after bigint, p_metadata boolean, p_bytes bigint)
RETURNS TABLE (sequence bigint, kind text, created_at float8, text text) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  v_tenant CONSTANT text := "scrollback".tenant_v1();
  v_bytes bigint := 0;
  v_guard bigint;
  t record;
BEGIN
  SELECT life, concat_ws(' ', life || '.' || number || '-' || tag, first, next, coalesce(pinned, 0), coalesce(compaction, 0),
      newest_compaction, round(date_part('epoch', created_at) * 1000)::bigint, round(date_part('epoch', updated_at) * 1000)::bigint,
      coalesce(CASE expires_at WHEN 'infinity' THEN 9223372036854775807 ELSE round(extract(epoch FROM expires_at) * 1000)::bigint END, 0)) AS head,
    CASE WHEN p_metadata THEN metadata END AS metadata, next
  INTO t FROM "scrollback".threads
  WHERE tenant = v_tenant AND id = p_id AND (expires_at IS NULL OR expires_at > clock_timestamp());
  IF NOT FOUND THEN
    RETURN;
  END IF;
  sequence := 0;
  text := t.head;
  RETURN NEXT;
  IF t.metadata IS NOT NULL THEN
    sequence := -1;
    text := t.metadata;
    RETURN NEXT;
  END IF;
  -- One of the two has rows.
  FOR sequence, kind, created_at, text IN
    (SELECT m.sequence, m.kind, round(date_part('epoch', m.created_at) * 1000), m.text FROM "scrollback".messages m
    WHERE p_after IS NOT NULL AND m.tenant = v_tenant AND m.life = t.life AND m.sequence > p_after ORDER BY m.sequence LIMIT p_limit)
    UNION ALL
    (SELECT m.sequence, m.kind, round(date_part('epoch', m.created_at) * 1000), m.text FROM "scrollback".messages m
    WHERE p_after IS NULL AND m.tenant = v_tenant AND m.life = t.life AND m.sequence < coalesce(p_before, 9007199254740992)
    ORDER BY m.sequence DESC LIMIT p_limit)
  LOOP
    IF v_bytes >= p_bytes THEN
      -- The newest message of the rest or, with p_after, of the thread. A row keeps its xmin and ctid until it is removed.
      v_guard := CASE WHEN p_after IS NULL THEN sequence ELSE t.next - 1 END;
      text := coalesce((SELECT concat_ws(' ', m.sequence, m.xmin, m.ctid) FROM "scrollback".messages m
        WHERE m.tenant = v_tenant AND m.life = t.life AND m.sequence = v_guard), '');
      sequence := -2;
      RETURN NEXT;
      RETURN;
    END IF;
    v_bytes := v_bytes + 100 + octet_length(text);
    RETURN NEXT;
  END LOOP;
END
$$;

-- Returns the messages behind p_after and before p_before that read_v1 did not return, oldest first, up to p_bytes, with the same columns.
-- No row if the message that p_guard identifies is no longer there: then the older ones may have been dropped and written again.
CREATE FUNCTION "scrollback".read_on_v1(p_life text, p_after bigint, p_before bigint, p_guard text, p_bytes bigint)
RETURNS TABLE (sequence bigint, kind text, created_at float8, text text) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  v_tenant CONSTANT text := "scrollback".tenant_v1();
  v_bytes bigint := 0;
BEGIN
  PERFORM FROM "scrollback".messages m WHERE m.tenant = v_tenant AND m.life = p_life
    AND m.sequence = nullif(split_part(p_guard, ' ', 1), '')::bigint AND concat_ws(' ', m.sequence, m.xmin, m.ctid) = p_guard;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  FOR sequence, kind, created_at, text IN
    SELECT m.sequence, m.kind, round(date_part('epoch', m.created_at) * 1000), m.text FROM "scrollback".messages m
    WHERE m.tenant = v_tenant AND m.life = p_life AND m.sequence > p_after AND m.sequence < p_before ORDER BY m.sequence
  LOOP
    EXIT WHEN v_bytes >= p_bytes;
    v_bytes := v_bytes + 100 + octet_length(text);
    RETURN NEXT;
  END LOOP;
END
$$;

-- Deletes a thread at the revision p_expected ('' if there must be none, NULL for any) and all that is stored of it. Returns the
-- outcome ('deleted', 'repeated', 'revision-conflict'), a space, and the thread's revision for a conflict.
CREATE FUNCTION "scrollback".delete_v1(p_id text, p_operation text, p_expected text)
RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '3s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_tenant CONSTANT text := "scrollback".tenant_v1();
  v_thread CONSTANT bytea := sha256(convert_to(p_id, 'UTF8'));
  v_operation CONSTANT bytea := sha256(convert_to(p_operation, 'UTF8'));
  v_now timestamptz;
  v_is_there boolean;
  v_revision text;
  t record;
BEGIN
  SELECT life, number, tag, expires_at, first, next, pinned, compaction, watched_until INTO t
  FROM "scrollback".threads WHERE tenant = v_tenant AND id = p_id FOR UPDATE;
  v_is_there := FOUND;
  v_now := clock_timestamp();
  IF EXISTS (SELECT FROM "scrollback".deletions
    WHERE tenant = v_tenant AND thread = v_thread AND operation = v_operation AND at > v_now - interval '10 s') THEN
    RETURN 'repeated ';
  END IF;
  v_revision := CASE WHEN v_is_there AND (t.expires_at IS NULL OR t.expires_at > v_now)
    THEN t.life || '.' || t.number || '-' || t.tag ELSE '' END;
  IF p_expected <> v_revision THEN
    RETURN 'revision-conflict ' || v_revision;
  END IF;
  IF v_is_there THEN
    PERFORM "scrollback".remove_v1(v_tenant, t.life, 0, 9223372036854775807, NULL, NULL,
      t.next - t.first + (t.pinned IS NOT NULL)::int + (t.compaction IS NOT NULL)::int);
    DELETE FROM "scrollback".threads WHERE tenant = v_tenant AND id = p_id;
    IF NOT FOUND THEN
      PERFORM "scrollback".hidden_v1('threads');
    END IF;
    IF t.watched_until > v_now THEN
      PERFORM "scrollback".notify_v1(t.life);
    END IF;
  END IF;
  INSERT INTO "scrollback".deletions (tenant, thread, operation, life, at)
  VALUES (v_tenant, v_thread, v_operation, coalesce(t.life, ''), v_now)
  ON CONFLICT (tenant, thread, operation, life) DO UPDATE SET at = excluded.at;
  IF NOT FOUND THEN
    PERFORM "scrollback".hidden_v1('deletions');
  END IF;
  PERFORM "scrollback".forget_v1(10);
  RETURN 'deleted ';
END
$$;

-- Lists at most p_limit threads whose ids begin with p_prefix and come after p_after ('' for none), in the order of their ids, with times in
-- milliseconds since 1970. A page ends early before its metadata gets larger than 4 MiB; is_more tells whether further threads follow the page.
-- With p_sizes, bytes is the size of a thread's texts, which are not read: PostgreSQL knows the length of a value.
CREATE FUNCTION "scrollback".list_threads_v1(p_prefix text, p_after text, p_limit bigint, p_sizes boolean)
RETURNS TABLE (id text, count bigint, created_at bigint, updated_at bigint, expires_at bigint, metadata text, bytes bigint, is_more boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
  WITH found AS (
    SELECT t.tenant, t.id, t.life, t.next - t.first + (t.pinned IS NOT NULL)::int + (t.compaction IS NOT NULL)::int AS count,
      t.created_at, t.updated_at, t.expires_at, t.metadata,
      row_number() OVER in_order AS place, count(*) OVER () AS total,
      sum(coalesce(octet_length(t.metadata), 0)) OVER in_order - coalesce(octet_length(t.metadata), 0) AS before
    FROM (
      SELECT * FROM "scrollback".threads
      WHERE tenant = "scrollback".tenant_v1()
        -- The greatest texts that begin with the prefix have at most 1,024 bytes more.
        AND id >= p_prefix AND id > p_after AND id <= p_prefix || repeat(chr(1114111), 257)
        AND (expires_at IS NULL OR expires_at > clock_timestamp())
      ORDER BY id LIMIT p_limit + 1
    ) AS t
    WINDOW in_order AS (ORDER BY t.id)
  )
  SELECT id, count, round(extract(epoch FROM created_at) * 1000)::bigint, round(extract(epoch FROM updated_at) * 1000)::bigint,
    CASE expires_at WHEN 'infinity' THEN 9223372036854775807 ELSE round(extract(epoch FROM expires_at) * 1000)::bigint END, metadata,
    CASE WHEN p_sizes THEN coalesce(octet_length(metadata), 0) + coalesce((SELECT sum(octet_length(m.text))
      FROM "scrollback".messages m WHERE m.tenant = found.tenant AND m.life = found.life), 0)::bigint END,
    count(*) OVER () < total
  FROM found WHERE place <= p_limit AND before < 4 * 1024 * 1024 ORDER BY place
$$;

-- Removes at most p_limit deletions of more than 10 seconds ago, with the operations of their threads. Returns their number. Rows are locked
-- first, so that each of them is there when it is removed.
CREATE FUNCTION "scrollback".forget_v1(p_limit bigint) RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_rows tid[];
  v_tenants text[];
  v_lives text[];
  v_count bigint;
BEGIN
  SELECT coalesce(array_agg(old.ctid), '{}'), array_agg(old.tenant), array_agg(old.life) INTO v_rows, v_tenants, v_lives FROM (
    SELECT ctid, tenant, life FROM "scrollback".deletions WHERE at <= clock_timestamp() - interval '10 s' LIMIT p_limit FOR UPDATE SKIP LOCKED
  ) AS old;
  DELETE FROM "scrollback".deletions WHERE ctid = ANY (v_rows);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  IF v_count < cardinality(v_rows) THEN
    PERFORM "scrollback".hidden_v1('deletions');
  END IF;
  DELETE FROM "scrollback".operations o USING unnest(v_tenants, v_lives) AS old (tenant, life) WHERE o.tenant = old.tenant AND o.life = old.life;
  IF EXISTS (SELECT FROM "scrollback".operations o JOIN unnest(v_tenants, v_lives) AS old (tenant, life) ON o.tenant = old.tenant AND o.life = old.life) THEN
    PERFORM "scrollback".hidden_v1('operations');
  END IF;
  RETURN v_count;
END
$$;

-- Removes at most p_limit expired threads, as many expired entries, and as many deletions that may be forgotten. Returns the number of
-- removed rows, without those of messages: 0 when nothing is left. Call it from a scheduler, as a role that sees the rows of all tenants.
CREATE FUNCTION "scrollback".sweep_v1(p_limit bigint DEFAULT 1000) RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_rows tid[];
  v_tenants text[];
  v_lives text[];
  v_threads bigint;
  v_entries bigint;
BEGIN
  SELECT coalesce(array_agg(expired.ctid), '{}'), array_agg(expired.tenant), array_agg(expired.life) INTO v_rows, v_tenants, v_lives FROM (
    SELECT ctid, tenant, life FROM "scrollback".threads WHERE expires_at <= clock_timestamp() LIMIT p_limit FOR UPDATE SKIP LOCKED
  ) AS expired;
  DELETE FROM "scrollback".threads WHERE ctid = ANY (v_rows);
  GET DIAGNOSTICS v_threads = ROW_COUNT;
  IF v_threads < cardinality(v_rows) THEN
    PERFORM "scrollback".hidden_v1('threads');
  END IF;
  DELETE FROM "scrollback".messages m USING unnest(v_tenants, v_lives) AS swept (tenant, life) WHERE m.tenant = swept.tenant AND m.life = swept.life;
  IF EXISTS (SELECT FROM "scrollback".messages m JOIN unnest(v_tenants, v_lives) AS swept (tenant, life) ON m.tenant = swept.tenant AND m.life = swept.life) THEN
    PERFORM "scrollback".hidden_v1('messages');
  END IF;
  DELETE FROM "scrollback".operations o USING unnest(v_tenants, v_lives) AS swept (tenant, life) WHERE o.tenant = swept.tenant AND o.life = swept.life;
  IF EXISTS (SELECT FROM "scrollback".operations o JOIN unnest(v_tenants, v_lives) AS swept (tenant, life) ON o.tenant = swept.tenant AND o.life = swept.life) THEN
    PERFORM "scrollback".hidden_v1('operations');
  END IF;
  v_rows := ARRAY(SELECT ctid FROM "scrollback".entries WHERE expires_at <= clock_timestamp() LIMIT p_limit FOR UPDATE SKIP LOCKED);
  DELETE FROM "scrollback".entries WHERE ctid = ANY (v_rows);
  GET DIAGNOSTICS v_entries = ROW_COUNT;
  IF v_entries < cardinality(v_rows) THEN
    PERFORM "scrollback".hidden_v1('entries');
  END IF;
  RETURN v_threads + v_entries + "scrollback".forget_v1(p_limit);
END
$$;
