-- Notes what has happened to messages before their end; those that have ended are passed over.
raise_counter()
for _, row in ipairs(rows) do
  local id, stage = id_of(row)
  local own = (row.mo and 'Mo:' or 'MT:') .. id
  local kind = kind_of(own)
  if kind and not has_ended(own, kind, stage) then
    local is_new = not stage and not (kind == 'hash' and try('HEXISTS', own, 'accepted') == 1)
    remember(row, BEFORE, id)
    if row.fields then
      if kind == 'hash' then put(own, row.fields) else keep(own) end
      try('ZADD', 'smsc:mirrored', row.at, id)
      if row.mo then
        if is_new then arrived(id) end
      elseif try('EXISTS', 'MT-seqno:' .. id) == 0 then
        try('SADD', 'set:submited', id)
      end
    end
    if row.seqno then
      sent(id, row)
      try('SADD', 'set:Response-succ', id)
      try('SREM', 'set:submited', id)
    end
  end
end
return refused
