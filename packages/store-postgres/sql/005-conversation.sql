-- For people, and for tools that read with SQL: the messages of the current tenant as time, role, text and name of the tool.

-- The value of a text; NULL for one that jsonb cannot hold (with U+0000, a lone surrogate), or that is no JSON: encrypted,
-- compressed, or damaged.
-- Not parallel: before version 18 a server cannot catch an error within a parallel plan.
CREATE FUNCTION "scrollback".value_of(p_text text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN p_text::jsonb;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- The message that people see: what a chat shows is in the metadata of the message that models get.
CREATE FUNCTION "scrollback".shown_in(p_value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN jsonb_typeof(p_value #> '{metadata,message}') = 'object' THEN p_value #> '{metadata,message}' ELSE p_value END
$$;

-- The text of a message: its content if that is a text, or the texts of its parts, in the usual shapes of messages; NULL if there is none.
CREATE FUNCTION "scrollback".text_of(p_message jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE
    WHEN jsonb_typeof(p_message -> 'content') = 'string' THEN p_message ->> 'content'
    ELSE (
      SELECT string_agg(part ->> 'text', E'\n' ORDER BY place)
      FROM jsonb_array_elements(CASE
        WHEN jsonb_typeof(p_message -> 'content') = 'array' THEN p_message -> 'content'
        WHEN jsonb_typeof(p_message -> 'parts') = 'array' THEN p_message -> 'parts'
      END) WITH ORDINALITY AS parts (part, place)
      WHERE jsonb_typeof(part -> 'text') = 'string' AND part ->> 'type' IS DISTINCT FROM 'reasoning'
    )
  END
$$;

-- The name of the first tool that a message calls, or whose result it has; NULL if there is none.
CREATE FUNCTION "scrollback".tool_of(p_message jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(part ->> 'toolName', part #>> '{function,name}', part ->> 'name')
  FROM jsonb_array_elements(CASE
    WHEN jsonb_typeof(p_message -> 'tool_calls') = 'array' THEN p_message -> 'tool_calls'
    WHEN jsonb_typeof(p_message -> 'content') = 'array' THEN p_message -> 'content'
    WHEN jsonb_typeof(p_message -> 'parts') = 'array' THEN p_message -> 'parts'
  END) WITH ORDINALITY AS parts (part, place)
  WHERE coalesce(part ->> 'toolName', part #>> '{function,name}', part ->> 'name') IS NOT NULL
  ORDER BY place LIMIT 1
$$;

CREATE VIEW "scrollback".conversation AS
SELECT t.id AS thread, m.sequence, m.created_at AS time,
  CASE m.kind WHEN 'u' THEN 'user' WHEN 's' THEN 'system' WHEN 't' THEN 'tool' ELSE 'assistant' END AS role,
  "scrollback".text_of("scrollback".shown_in("scrollback".value_of(m.text))) AS text,
  "scrollback".tool_of("scrollback".shown_in("scrollback".value_of(m.text))) AS tool
FROM "scrollback".threads t JOIN "scrollback".messages m ON m.tenant = t.tenant AND m.life = t.life
WHERE t.tenant = coalesce(current_setting('scrollback.tenant', true), '')
  AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());

-- Otherwise the view would read with the rights of its owner, whom policies of row-level security do not restrict. PostgreSQL 13 and 14
-- cannot do it: there, grant the view to nobody whom policies restrict.
DO $$
BEGIN
  IF current_setting('server_version_num')::int >= 150000 THEN
    ALTER VIEW "scrollback".conversation SET (security_invoker = true);
  END IF;
END
$$;
