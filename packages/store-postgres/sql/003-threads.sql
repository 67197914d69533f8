-- Reading, listing and deleting threads, and the removal of what has expired.

-- Reads a thread: no row if it does not exist, otherwise
--   0, its head: revision, first, next, pinned or 0, compaction or 0, newest compaction or 0, created, updated and expiry (or 0) in
--      milliseconds since 1970, with spaces between them
--   -1, the record of its metadata, if p_metadata and there is one
--   and the wanted messages: sequence number and record, in any order.
--
-- p_limit      the number of messages: the newest, or with p_after the first ones
-- p_before, p_after   only messages with a smaller, or a larger sequence number
CREATE FUNCTION "scrollback".read_v1(p_id text, p_limit bigint, p_before bigint, p_after bigint, p_metadata boolean)
RETURNS TABLE (sequence bigint, record text) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  v_tenant CONSTANT text := coalesce(current_setting('scrollback.tenant', true), '');
  t record;
BEGIN
  SELECT life, concat_ws(' ', life || '.' || number || '-' || tag, first, next, coalesce(pinned, 0), coalesce(compaction, 0),
      newest_compaction, round(date_part('epoch', created_at) * 1000)::bigint, round(date_part('epoch', updated_at) * 1000)::bigint,
      coalesce(round(extract(epoch FROM expires_at) * 1000)::bigint, 0)) AS head,
    CASE WHEN p_metadata THEN metadata END AS metadata
  INTO t FROM "scrollback".threads
  WHERE tenant = v_tenant AND id = p_id AND (expires_at IS NULL OR expires_at > clock_timestamp());
  IF NOT FOUND THEN
    RETURN;
  END IF;
  sequence := 0;
  record := t.head;
  RETURN NEXT;
  IF t.metadata IS NOT NULL THEN
    sequence := -1;
    record := t.metadata;
    RETURN NEXT;
  END IF;
  IF p_after IS NOT NULL THEN
    RETURN QUERY SELECT m.sequence, m.record FROM "scrollback".messages m
    WHERE m.tenant = v_tenant AND m.life = t.life AND m.sequence > p_after ORDER BY m.sequence LIMIT p_limit;
  ELSE
    RETURN QUERY SELECT m.sequence, m.record FROM "scrollback".messages m
    WHERE m.tenant = v_tenant AND m.life = t.life AND m.sequence < coalesce(p_before, 9007199254740992)
    ORDER BY m.sequence DESC LIMIT p_limit;
  END IF;
END
$$;

-- Deletes a thread at the revision p_expected ('' if there must be none, NULL for any) and all that is stored of it. Returns the
-- outcome ('deleted', 'repeated', 'revision-conflict'), a space, and the thread's revision for a conflict.
CREATE FUNCTION "scrollback".delete_v1(p_id text, p_operation text, p_expected text)
RETURNS text LANGUAGE plpgsql
SET lock_timeout = '3s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  v_tenant CONSTANT text := coalesce(current_setting('scrollback.tenant', true), '');
  v_thread CONSTANT bytea := sha256(convert_to(p_id, 'UTF8'));
  v_operation CONSTANT bytea := sha256(convert_to(p_operation, 'UTF8'));
  v_now timestamptz;
  v_is_there boolean;
  v_revision text;
  t record;
BEGIN
  SELECT life, number, tag, expires_at, watched_until INTO t FROM "scrollback".threads WHERE tenant = v_tenant AND id = p_id FOR UPDATE;
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
    DELETE FROM "scrollback".messages WHERE tenant = v_tenant AND life = t.life;
    DELETE FROM "scrollback".threads WHERE tenant = v_tenant AND id = p_id;
    INSERT INTO "scrollback".deletions VALUES (v_tenant, v_thread, v_operation, t.life, v_now);
    IF t.watched_until > v_now THEN
      PERFORM "scrollback".notify_v1(t.life);
    END IF;
  ELSE
    INSERT INTO "scrollback".deletions VALUES (v_tenant, v_thread, v_operation, NULL, v_now);
  END IF;
  PERFORM "scrollback".forget_v1(10);
  RETURN 'deleted ';
END
$$;

-- Lists at most p_limit threads whose ids begin with p_prefix and come after p_after ('' for none), in the order of their ids, with times in
-- milliseconds since 1970. A page ends early before its metadata gets larger than 4 MiB; is_more tells whether further threads follow the page.
CREATE FUNCTION "scrollback".list_threads_v1(p_prefix text, p_after text, p_limit bigint)
RETURNS TABLE (id text, count bigint, created_at bigint, updated_at bigint, expires_at bigint, metadata text, is_more boolean)
LANGUAGE sql STABLE AS $$
  WITH found AS (
    SELECT t.id, t.next - t.first + (t.pinned IS NOT NULL)::int + (t.compaction IS NOT NULL)::int AS count,
      t.created_at, t.updated_at, t.expires_at, t.metadata,
      row_number() OVER in_order AS place, count(*) OVER () AS total,
      sum(coalesce(octet_length(t.metadata), 0)) OVER in_order - coalesce(octet_length(t.metadata), 0) AS before
    FROM (
      SELECT * FROM "scrollback".threads
      WHERE tenant = coalesce(current_setting('scrollback.tenant', true), '')
        -- The greatest texts that begin with the prefix have at most 1,024 bytes more.
        AND id >= p_prefix AND id > p_after AND id <= p_prefix || repeat(chr(1114111), 257)
        AND (expires_at IS NULL OR expires_at > clock_timestamp())
      ORDER BY id LIMIT p_limit + 1
    ) AS t
    WINDOW in_order AS (ORDER BY t.id)
  )
  SELECT id, count, round(extract(epoch FROM created_at) * 1000)::bigint, round(extract(epoch FROM updated_at) * 1000)::bigint,
    round(extract(epoch FROM expires_at) * 1000)::bigint, metadata, count(*) OVER () < total
  FROM found WHERE place <= p_limit AND before < 4 * 1024 * 1024 ORDER BY place
$$;

-- Removes at most p_limit deletions of more than 10 seconds ago, with the operations of their threads. Returns their number.
CREATE FUNCTION "scrollback".forget_v1(p_limit bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_count bigint;
BEGIN
  WITH old AS (
    SELECT ctid FROM "scrollback".deletions WHERE at <= clock_timestamp() - interval '10 s' LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), forgotten AS (
    DELETE FROM "scrollback".deletions d USING old WHERE d.ctid = old.ctid RETURNING d.tenant, d.life
  ), operations AS (
    DELETE FROM "scrollback".operations o USING forgotten f WHERE o.tenant = f.tenant AND o.life = f.life
  )
  SELECT count(*) INTO v_count FROM forgotten;
  RETURN v_count;
END
$$;

-- Removes at most p_limit expired threads, as many expired entries, and as many deletions that may be forgotten. Returns the number of
-- removed rows, without those of messages: 0 when nothing is left. Call it from a scheduler, as a role that sees the rows of all tenants.
CREATE FUNCTION "scrollback".sweep_v1(p_limit bigint DEFAULT 1000) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_threads bigint;
  v_entries bigint;
BEGIN
  WITH expired AS (
    SELECT ctid FROM "scrollback".threads WHERE expires_at <= clock_timestamp() LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), swept AS (
    DELETE FROM "scrollback".threads t USING expired WHERE t.ctid = expired.ctid RETURNING t.tenant, t.life
  ), messages AS (
    DELETE FROM "scrollback".messages m USING swept s WHERE m.tenant = s.tenant AND m.life = s.life
  ), operations AS (
    DELETE FROM "scrollback".operations o USING swept s WHERE o.tenant = s.tenant AND o.life = s.life
  )
  SELECT count(*) INTO v_threads FROM swept;
  WITH expired AS (
    SELECT ctid FROM "scrollback".entries WHERE expires_at <= clock_timestamp() LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), swept AS (
    DELETE FROM "scrollback".entries e USING expired WHERE e.ctid = expired.ctid RETURNING 1
  )
  SELECT count(*) INTO v_entries FROM swept;
  RETURN v_threads + v_entries + "scrollback".forget_v1(p_limit);
END
$$;
