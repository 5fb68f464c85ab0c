-- Ends the submission of ids, and notes what became of them. A row: the id, and the id of its message here or why it has
-- none. The end of a message may have been noted before, and the pump may have taken it: it gets no key again.
for _, row in ipairs(rows) do
  local id, own = row.id, 'MT:' .. row.id
  if redis.call('LREM', 'list:Processing', 0, id) > 0 then
    local kind = kind_of(own)
    if row.message then
      local stage = string.sub(try('GET', 'smsc:seen:' .. row.message) or '', 1, 1)
      if kind and not has_ended(own, kind, stage) then
        if kind == 'hash' then try('HSET', own, 'message', row.message) end
        remember(row, BEFORE, id)
        if try('EXISTS', 'MT-seqno:' .. id) ~= 1 then try('SADD', 'set:submited', id) end
      end
    else
      set('Submit-Failed:' .. id, row.why)
      try('SADD', 'set:Response-fail', id)
      if kind == 'hash' then try('HSET', own, 'state', 'REJECTED', 'finished', ARGV[3]) end
      try('ZADD', 'smsc:mirrored', ARGV[3], id)
      finish(id)
      keep(own)
      keep('Submit-Failed:' .. id)
    end
  end
end
return refused
