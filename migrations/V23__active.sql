-- What is not finished, without reading what is: below the low-water mark carry has it, and above are only the
-- last messages.

CREATE OR REPLACE VIEW active AS
  SELECT m.id, m.at, m.sender, m.queue, m.part, m.destination,
    CASE WHEN f.id IS NOT NULL THEN 'untold'
         WHEN EXISTS (SELECT 1 FROM sent s WHERE s.id = m.id AND s.status = 0) THEN 'sent'
         ELSE 'waiting' END AS stage
  FROM carry c JOIN msg m ON m.id = c.id LEFT JOIN fin f ON f.id = c.id
  WHERE c.id < (SELECT coalesce(max(value), 0) FROM meta WHERE key = 'low_water')
    AND (f.id IS NULL OR (f.tell <> 0 AND NOT EXISTS (SELECT 1 FROM told t WHERE t.id = c.id)))
  UNION ALL
  SELECT m.id, m.at, m.sender, m.queue, m.part, m.destination,
    CASE WHEN f.id IS NOT NULL THEN 'untold'
         WHEN EXISTS (SELECT 1 FROM sent s WHERE s.id = m.id AND s.status = 0) THEN 'sent'
         ELSE 'waiting' END AS stage
  FROM msg m LEFT JOIN fin f ON f.id = m.id
  WHERE m.id >= (SELECT coalesce(max(value), 0) FROM meta WHERE key = 'low_water')
    AND (f.id IS NULL OR (f.tell <> 0 AND NOT EXISTS (SELECT 1 FROM told t WHERE t.id = m.id)));
COMMENT ON VIEW active IS 'messages that are not finished; how much is finished does not matter';
