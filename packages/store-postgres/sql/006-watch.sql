-- Watching threads: notifications on the channel scrollback, which every schema and tenant of the database shares.

-- The payload of a thread's notifications. Every role of the database can listen, also one whose policies hide the thread, so it is a digest
-- of random characters that only those who can read the row know.
CREATE FUNCTION "scrollback".hint_v1(p_life text) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT left(encode(sha256(convert_to(p_life, 'UTF8')), 'hex'), 32)
$$;

-- Sends a notification, unless the server's queue of them is half full: a full one would make the commit fail. It fills while a connection of
-- any role that listens is idle in a transaction. Who watches reads from time to time without a hint, too.
CREATE FUNCTION "scrollback".notify_v1(p_life text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_notification_queue_usage() < 0.5 THEN
    PERFORM pg_notify('scrollback', "scrollback".hint_v1(p_life));
  END IF;
END
$$;

-- Has each change of the threads send a notification, for a minute. A thread that another transaction has locked is left out, as it would
-- make the others wait; with p_waits, for one thread, it is waited for, for at most a second.
--
-- A commit locks the row before it looks whether the thread is watched. So what this transaction did not wait for sends a notification, and
-- the rest can be read after it.
--
-- Returns a row for each thread that exists: its id, the payload of its notifications, whether it is watched now, and whether it was before,
-- without a break.
CREATE FUNCTION "scrollback".watch_v1(p_ids text[], p_waits boolean)
RETURNS TABLE (id text, payload text, is_watched boolean, was_watched boolean) LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  v_tenant CONSTANT text := "scrollback".tenant_v1();
  v_ids text[];
  v_watched text[];
BEGIN
  IF p_waits THEN
    BEGIN
      SELECT array_agg(f.id), array_agg(f.id) FILTER (WHERE f.watched_until > clock_timestamp()) INTO v_ids, v_watched
      FROM (SELECT id, watched_until FROM "scrollback".threads WHERE tenant = v_tenant AND id = ANY (p_ids) FOR UPDATE) AS f;
    EXCEPTION WHEN lock_not_available THEN
      v_ids := NULL;
    END;
  ELSE
    SELECT array_agg(f.id), array_agg(f.id) FILTER (WHERE f.watched_until > clock_timestamp()) INTO v_ids, v_watched
    FROM (SELECT id, watched_until FROM "scrollback".threads WHERE tenant = v_tenant AND id = ANY (p_ids) FOR UPDATE SKIP LOCKED) AS f;
  END IF;
  UPDATE "scrollback".threads SET watched_until = clock_timestamp() + interval '1 min' WHERE tenant = v_tenant AND id = ANY (v_ids);
  RETURN QUERY SELECT id, "scrollback".hint_v1(life), coalesce(id = ANY (v_ids), false), coalesce(id = ANY (v_watched), false)
  FROM "scrollback".threads WHERE tenant = v_tenant AND id = ANY (p_ids);
END
$$;
