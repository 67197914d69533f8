-- The verbs of the index: entries beside threads. p_place is a digest of index, key and id, and begins with one of index and key; the table
-- has the tenant before it. p_sort is the place of the entry in the order of its index. Expired entries count as absent. p_expires is in
-- milliseconds since 1970, or NULL.
-- p_vectors has all vectors of an entry, each of p_dimensions and of length 1, one after another; NULL: unchanged; '{}': none.

-- Removes at most 100 expired entries of an index, but not the one that is being written. Rows that another write locks are left to it: two
-- sweeps in different orders would deadlock. By ctid and with a time that is computed once, so that each plan, also one that was made when the
-- table was empty, reads expired rows only. Rows are locked first, so that each of them is there when it is removed.
CREATE FUNCTION "scrollback".sweep_entries_v1(p_name text, p_place text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_rows CONSTANT tid[] := ARRAY(
    SELECT ctid FROM "scrollback".entries
    WHERE scope = "scrollback".tenant_v1() || chr(30) || p_name
      AND expires_at <= (SELECT clock_timestamp()) AND place <> p_place LIMIT 100 FOR UPDATE SKIP LOCKED
  );
  v_count bigint;
BEGIN
  DELETE FROM "scrollback".entries WHERE ctid = ANY (v_rows);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  IF v_count < cardinality(v_rows) THEN
    PERFORM "scrollback".hidden_v1('entries');
  END IF;
END
$$;

-- Inserts an entry, unless there is one at its place. Returns whether it was inserted.
CREATE FUNCTION "scrollback".insert_entry_v1(
  p_place text, p_name text, p_key text, p_id text, p_sort text, p_version bigint, p_value text, p_expires bigint,
  p_dimensions integer, p_vectors real[]
) RETURNS boolean LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '3s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_tenant CONSTANT text := "scrollback".tenant_v1();
  v_place CONSTANT text := v_tenant || chr(30) || p_place;
  v_now CONSTANT timestamptz := clock_timestamp();
BEGIN
  PERFORM "scrollback".sweep_entries_v1(p_name, v_place);
  INSERT INTO "scrollback".entries AS e (tenant, place, name, key, id, sort, version, value, expires_at, dimensions, vectors)
  VALUES (v_tenant, v_place, p_name, p_key, p_id, p_sort, p_version, p_value, to_timestamp(p_expires / 1000.0), p_dimensions, nullif(p_vectors, '{}'))
  ON CONFLICT (place) DO UPDATE
  SET sort = excluded.sort, version = excluded.version, value = excluded.value, expires_at = excluded.expires_at,
    dimensions = excluded.dimensions, vectors = excluded.vectors
  WHERE e.expires_at <= v_now;
  IF FOUND THEN
    RETURN true;
  END IF;
  -- The insert has locked the entry that is there.
  IF NOT EXISTS (SELECT FROM "scrollback".entries WHERE place = v_place AND (expires_at IS NULL OR expires_at > v_now)) THEN
    PERFORM "scrollback".hidden_v1('entries');
  END IF;
  RETURN false;
END
$$;

-- Replaces an entry that has a lower version. Returns the version that it had; NULL if there is none.
CREATE FUNCTION "scrollback".update_entry_v1(
  p_place text, p_name text, p_key text, p_id text, p_sort text, p_version bigint, p_value text, p_expires bigint,
  p_dimensions integer, p_vectors real[]
) RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '3s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_place CONSTANT text := "scrollback".tenant_v1() || chr(30) || p_place;
  v_version bigint;
BEGIN
  PERFORM "scrollback".sweep_entries_v1(p_name, v_place);
  SELECT version INTO v_version FROM "scrollback".entries
  WHERE place = v_place AND (expires_at IS NULL OR expires_at > clock_timestamp()) FOR UPDATE;
  IF v_version < p_version THEN
    UPDATE "scrollback".entries
    SET sort = p_sort, version = p_version, value = p_value, expires_at = to_timestamp(p_expires / 1000.0),
      dimensions = CASE WHEN p_vectors IS NULL THEN dimensions ELSE p_dimensions END,
      vectors = CASE WHEN p_vectors IS NULL THEN vectors ELSE nullif(p_vectors, '{}') END
    WHERE place = v_place;
    IF NOT FOUND THEN
      PERFORM "scrollback".hidden_v1('entries');
    END IF;
  END IF;
  RETURN v_version;
END
$$;

-- Removes an entry. Returns whether there was one.
CREATE FUNCTION "scrollback".remove_entry_v1(p_place text) RETURNS boolean LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '3s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_place CONSTANT text := "scrollback".tenant_v1() || chr(30) || p_place;
  v_was_alive boolean;
BEGIN
  DELETE FROM "scrollback".entries WHERE place = v_place
  RETURNING expires_at IS NULL OR expires_at > clock_timestamp() INTO v_was_alive;
  IF NOT FOUND AND EXISTS (SELECT FROM "scrollback".entries WHERE place = v_place) THEN
    PERFORM "scrollback".hidden_v1('entries');
  END IF;
  RETURN coalesce(v_was_alive, false);
END
$$;

-- Returns all entries of a key, whose places begin with p_digest and a dot.
CREATE FUNCTION "scrollback".entries_of_v1(p_digest text)
RETURNS TABLE (key text, id text, version bigint, sort text, value text, expires_at bigint) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  v_digest CONSTANT text := "scrollback".tenant_v1() || chr(30) || p_digest;
BEGIN
  RETURN QUERY SELECT e.key, e.id, e.version, e.sort, e.value, CASE e.expires_at WHEN 'infinity' THEN 9223372036854775807 ELSE round(extract(epoch FROM e.expires_at) * 1000)::bigint END
  FROM "scrollback".entries e
  WHERE e.place >= v_digest || '.' AND e.place < v_digest || '/'
    AND (e.expires_at IS NULL OR e.expires_at > clock_timestamp());
END
$$;

-- Returns at most p_limit entries of an index behind p_after, in its order or (p_down) exactly reversed. The conditions and the order by
-- the beginning of `sort` use the index.
CREATE FUNCTION "scrollback".list_entries_v1(p_name text, p_down boolean, p_after text, p_limit bigint)
RETURNS TABLE (key text, id text, version bigint, sort text, value text, expires_at bigint) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  v_scope CONSTANT text := "scrollback".tenant_v1() || chr(30) || p_name;
BEGIN
  IF p_down THEN
    RETURN QUERY SELECT e.key, e.id, e.version, e.sort, e.value, CASE e.expires_at WHEN 'infinity' THEN 9223372036854775807 ELSE round(extract(epoch FROM e.expires_at) * 1000)::bigint END
    FROM "scrollback".entries e
    WHERE e.scope = v_scope AND left(e.sort, 96) <= left(p_after, 96) AND e.sort < p_after
      AND (e.expires_at IS NULL OR e.expires_at > clock_timestamp())
    ORDER BY left(e.sort, 96) DESC, e.sort DESC LIMIT p_limit;
  ELSE
    RETURN QUERY SELECT e.key, e.id, e.version, e.sort, e.value, CASE e.expires_at WHEN 'infinity' THEN 9223372036854775807 ELSE round(extract(epoch FROM e.expires_at) * 1000)::bigint END
    FROM "scrollback".entries e
    WHERE e.scope = v_scope AND left(e.sort, 96) >= left(p_after, 96) AND e.sort > p_after
      AND (e.expires_at IS NULL OR e.expires_at > clock_timestamp())
    ORDER BY left(e.sort, 96), e.sort LIMIT p_limit;
  END IF;
END
$$;

-- Returns at most p_limit entries of an index between p_after and p_before whose vectors are nearest to p_vector, without the p_offset nearest
-- ones. It computes the cosine of each vector in the range. The extension pgvector may be absent, or in any schema, which may have other
-- objects too: so its type and its operator are looked up, and named with their schema.
CREATE FUNCTION "scrollback".nearest_entries_v1(
  p_name text, p_after text, p_before text, p_vector real[], p_limit bigint, p_offset bigint
) RETURNS TABLE (key text, id text, version bigint, sort text, value text, expires_at bigint, score float8) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_scope CONSTANT text := "scrollback".tenant_v1() || chr(30) || p_name;
  v_schema text;
  v_table regclass;
BEGIN
  SELECT quote_ident(n.nspname) INTO v_schema FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'vector';
  IF NOT FOUND THEN
    RAISE undefined_object USING MESSAGE = 'the extension vector does not exist';
  END IF;
  -- The name of the schema cannot stand in a quoted text.
  SELECT e.tableoid INTO v_table FROM "scrollback".entries e WHERE e.scope = v_scope LIMIT 1;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  RETURN QUERY EXECUTE format('
    SELECT e.key, e.id, e.version, e.sort, e.value, CASE e.expires_at WHEN ''infinity'' THEN 9223372036854775807 ELSE round(extract(epoch FROM e.expires_at) * 1000)::bigint END, s.score
    FROM %2$s e, LATERAL (
      -- A slice of an array takes longer than the array: most entries have one vector. Without OFFSET the score would be computed twice.
      SELECT CASE WHEN cardinality(e.vectors) = $2 THEN -(e.vectors::%1$s.vector OPERATOR(%1$s.<#>) (SELECT $1::%1$s.vector)) ELSE (
        SELECT max(-(e.vectors[first : first + $2 - 1]::%1$s.vector OPERATOR(%1$s.<#>) (SELECT $1::%1$s.vector)))
        FROM generate_series(1, cardinality(e.vectors), $2) AS first
      ) END AS score OFFSET 0
    ) s
    WHERE e.scope = $3 AND e.dimensions = $2
      AND left(e.sort, 96) >= left($4, 96) AND e.sort > $4 AND left(e.sort, 96) <= left($5, 96) AND e.sort < $5
      AND (e.expires_at IS NULL OR e.expires_at > clock_timestamp())
    ORDER BY s.score DESC, e.sort LIMIT $6 OFFSET $7', v_schema, v_table)
  USING p_vector, cardinality(p_vector), v_scope, p_after, p_before, p_limit, p_offset;
END
$$;

-- Returns at most p_limit names of indexes with entries that begin with p_prefix and come after p_after ('' for none), in order. Each step
-- searches the index for the next name.
CREATE FUNCTION "scrollback".list_indexes_v1(p_prefix text, p_after text, p_limit bigint)
RETURNS TABLE (name text) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  v_tenant CONSTANT text := "scrollback".tenant_v1();
  v_begin CONSTANT text := v_tenant || chr(30) || p_prefix;
  v_name text := p_after;
BEGIN
  FOR place IN 1..p_limit LOOP
    SELECT e.name INTO v_name FROM "scrollback".entries e
    WHERE e.scope >= v_begin AND e.scope > v_tenant || chr(30) || v_name
      AND e.scope <= v_begin || repeat(chr(1114111), 257)
      AND (e.expires_at IS NULL OR e.expires_at > clock_timestamp())
    ORDER BY e.scope LIMIT 1;
    EXIT WHEN NOT FOUND;
    RETURN QUERY VALUES (v_name);
  END LOOP;
END
$$;
