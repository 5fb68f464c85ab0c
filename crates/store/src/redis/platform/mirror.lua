-- Notes that messages have ended. One batch, so all of it or nothing; a message whose end is known is passed over.
--
-- Members of sets go with the keys of their messages; entries of lists go from the old end, once what they stand for is
-- gone.
raise_counter()
for _, row in ipairs(rows) do
  local id, stage = id_of(row)
  local own = (row.mo and 'Mo:' or 'MT:') .. id
  local kind = kind_of(own)
  if kind and not has_ended(own, kind, stage) then
    local was_there = stage or kind == 'hash' and try('HEXISTS', own, 'accepted') == 1
    if kind == 'hash' then put(own, row.fields) else keep(own) end
    try('ZADD', 'smsc:mirrored', row.at, id)
    remember(row, ENDED, id)
    if row.mo then
      if not was_there then arrived(id) end
      -- The platform's forwarder takes it from list:MO-ID.
      if options.platform_forwards then try('ZADD', 'smsc:handed', now, id) else finish(id) end
    else
      try('SREM', 'set:submited', id)
      if row.seqno then sent(id, row) end
      if row.failed then
        set('Submit-Failed:' .. id, row.failed)
        keep('Submit-Failed:' .. id)
        try('SADD', 'set:Response-fail', id)
      elseif row.seqno and not row.report then
        try('SADD', 'set:Response-succ', id)
      end
      if row.report then
        try('SREM', 'set:Response-succ', id)
        put('Report:' .. id, row.report)
      end
      if row.report and options.platform_forwards then
        try('LPUSH', 'list:report', id)
        try('ZADD', 'smsc:handed', now, id)
      elseif options.platform_forwards or row.forwarded then
        finish(id)
      else
        if row.report then try('LPUSH', 'list:report', id) end
        try('ZADD', 'smsc:forwarding', now, row.message .. ':' .. id)
      end
    end
  end
end
if life > 0 then
  local old = try('ZRANGEBYSCORE', 'smsc:mirrored', '-inf', now - life, 'LIMIT', 0, options.most)
  for _, id in ipairs(old or {}) do forget(id) end
  shorten('list:report', 'Report:')
  shorten('list:MO-ID', 'Mo:')
  shorten('list:Finish', 'MT:', 'Mo:')
end
return refused
