-- Notes which messages were forwarded, and when the others are to be looked at again.
--
-- A row: the entry of smsc:forwarding (the message and its id), and `again`, Unix milliseconds, for one that was not
-- forwarded. An entry that is not there any more was noted before.
for _, row in ipairs(rows) do
  local entry = row.message .. ':' .. row.id
  if row.again then
    try('ZADD', 'smsc:forwarding', 'XX', row.again, entry)
  elseif try('ZREM', 'smsc:forwarding', entry) == 1 then
    local of_report = try('EXISTS', 'Report:' .. row.id) == 1
    if of_report and options.platform_forwards then
      -- It was ours to forward before the configuration was changed, and waits in list:report.
      try('ZADD', 'smsc:handed', now, row.id)
    else
      -- From the old end, where it is unless others wait much longer. A long list is not searched: what is left goes with
      -- its report.
      if of_report and (try('LLEN', 'list:report') or 0) <= options.searched then try('LREM', 'list:report', -1, row.id) end
      finish(row.id)
    end
  end
end
return refused
