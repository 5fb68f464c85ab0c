//! What independent programs read in more TPDUs, and that we read the same and write it back.
//!
//! The first 28 were written by python-messaging 0.5.13, the others by a writer of their own in Python. pycrate 0.8.1 reads
//! all of them and writes the same octets again: numbers, flags and times are its reading. Texts are those that were
//! written; smspdudecoder 2.2.0 or python-messaging read the same, but for three waiting indications, whose
//! groups of TP-DCS (3GPP TS 23.038 §4) neither knows, and one text behind a header, to which the former adds an `@` of
//! fill bits.

use super::*;

/// A kind, the octets, and the reading as [`reading`] writes it.
#[rustfmt::skip]
const READINGS: &[(Kind, &str, &str)] = &[
    (Kind::Submit, "010008919461001000000161", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=a"),
    (Kind::Submit, "010008919461001000000100", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=@"),
    (Kind::Submit, "010008919461001000000861310000000000", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=ab@@@@@@"),
    (Kind::Submit, "010008919461001000000831D98C56B3DD00", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=1234567@"),
    (Kind::Submit, "010008919461001000001031D98C56B3DD7039584C36A38100", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=12345678901234 @"),
    (Kind::Submit, "01000891946100100000A09BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA9BF2A6BC296FCA", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€"),
    (Kind::Submit, "01000891946100100000101BCA06B5496D5E1BDEA6B7F16D80", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=^{}\\[~]|"),
    (Kind::Submit, "010008919461001000080C00DC006E00EF007400EB0064", "- mr=0 da=1/1/49160001 pid=00 dcs=08 vp=- udh=- text=Ünïtëd"),
    (Kind::Submit, "01000D91946100103254F600000E47B9DF530685EB73D092CF7603", "- mr=0 da=1/1/4916000123456 pid=00 dcs=00 vp=- udh=- text=Grüße aus Köln"),
    (Kind::Submit, "0100089194610010000012ECB4BB0C7ABBCB0D053BED2E83E8F737", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=line one\r\nline two"),
    (Kind::Submit, "41000891946100100000A00500032A0201F0783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=00032a0201 text=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    (Kind::Submit, "410008919461001000000F0500032A0202F0783C1E8FDF9401", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=00032a0202 text=xxxxxx€"),
    (Kind::Submit, "41000891946100100000A00500032A02016031D98C56B3DD7039584C36A3D56C375C0E1693CD6835DB0D9783C564335ACD76C3E56031D98C56B3DD7039584C36A3D56C375C0E1693CD6835DB0D9783C564335ACD76C3E56031D98C56B3DD7039584C36A3D56C375C0E1693CD6835DB0D9783C564335ACD76C3E56031D98C56B3DD7039584C36A3D56C375C0E1693CD6835DB0D9783C564", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=00032a0201 text=012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012"),
    (Kind::Submit, "410008919461001000000F0500032A020266B49AED86CBC100", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=00032a0202 text=34567890"),
    (Kind::Submit, "41000891946100100000A00500032A0201F2F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE7F3F97C3E9FCFE737", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=00032a0201 text=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"),
    (Kind::Submit, "410008919461001000001C0500032A0202CA7ABD5EAFD7EBF57ABD5EAFD7EBF57ABD5E0F", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=00032a0202 text=ezzzzzzzzzzzzzzzzzzzz"),
    (Kind::Submit, "010008919461001000081065E5672C8A9E306E30C630AD30B930C8", "- mr=0 da=1/1/49160001 pid=00 dcs=08 vp=- udh=- text=日本語のテキスト"),
    (Kind::Submit, "010008919461001000081005DE05D4002005E905DC05D505DE05DA", "- mr=0 da=1/1/49160001 pid=00 dcs=08 vp=- udh=- text=מה שלומך"),
    (Kind::Submit, "010008919461001000080E06270644063906310628064A0629", "- mr=0 da=1/1/49160001 pid=00 dcs=08 vp=- udh=- text=العربية"),
    (Kind::Submit, "410008919461001000088C0500032A020100DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF00DF", "- mr=0 da=1/1/49160001 pid=00 dcs=08 vp=- udh=00032a0201 text=ßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßß"),
    (Kind::Submit, "41000891946100100008200500032A020200DF00DF00DF044F044F044F044F044F044F044F044F044F044F", "- mr=0 da=1/1/49160001 pid=00 dcs=08 vp=- udh=00032a0202 text=ßßßяяяяяяяяяя"),
    (Kind::Submit, "2100089194610010000006737A985E9F03", "srr mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=status"),
    (Kind::Submit, "11000891946100100000A708F6303B4D4ED3F3", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=rel:167 udh=- text=validity"),
    (Kind::Submit, "110008919461001000000008F6303B4D4ED3F3", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=rel:0 udh=- text=validity"),
    (Kind::Submit, "11000891946100100000FC08F6303B4D4ED3F3", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=rel:252 udh=- text=validity"),
    (Kind::Submit, "017F089194610010000003F2B219", "- mr=127 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=ref"),
    (Kind::Submit, "01000481011000000A73F45B4E078DDFE432", "- mr=0 da=0/1/1001 pid=00 dcs=00 vp=- udh=- text=short code"),
    (Kind::Submit, "01000791942143F500000A6F3219444E9FD3F439", "- mr=0 da=1/1/4912345 pid=00 dcs=00 vp=- udh=- text=odd digits"),
    (Kind::Deliver, "040C9144770009103200006211125003510005C8329BFD06", "- oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=- text=Hello"),
    (Kind::Deliver, "000C9144770009103200006211125003510004EDB7BC0C", "more oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=- text=more"),
    (Kind::Deliver, "AC0C914477000910320000621112500351000861361B244ED3E7", "lp,sri,rp oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=- text=all bits"),
    (Kind::Deliver, "040C9144770009103200004220923295951006FAB7BB0C8A01", "- oa=1/1/447700900123 pid=00 dcs=00 at=240229235959+1 udh=- text=zone 1"),
    (Kind::Deliver, "040C9144770009103200004220923295951807FAB7BB0C6AC500", "- oa=1/1/447700900123 pid=00 dcs=00 at=240229235959-1 udh=- text=zone -1"),
    (Kind::Deliver, "040C9144770009103200004220923295953207FAB7BB0C92CD00", "- oa=1/1/447700900123 pid=00 dcs=00 at=240229235959+23 udh=- text=zone 23"),
    (Kind::Deliver, "040C9144770009103200004220923295952A08FAB7BB0C6AC964", "- oa=1/1/447700900123 pid=00 dcs=00 at=240229235959-22 udh=- text=zone -22"),
    (Kind::Deliver, "040C9144770009103200004220923295958407FAB7BB0CA2E100", "- oa=1/1/447700900123 pid=00 dcs=00 at=240229235959+48 udh=- text=zone 48"),
    (Kind::Deliver, "040C9144770009103200004220923295958C08FAB7BB0C6AD170", "- oa=1/1/447700900123 pid=00 dcs=00 at=240229235959-48 udh=- text=zone -48"),
    (Kind::Deliver, "040C9144770009103200004220923295959707FAB7BB0CBAE500", "- oa=1/1/447700900123 pid=00 dcs=00 at=240229235959+79 udh=- text=zone 79"),
    (Kind::Deliver, "040C9144770009103200004220923295959F08FAB7BB0C6ADD72", "- oa=1/1/447700900123 pid=00 dcs=00 at=240229235959-79 udh=- text=zone -79"),
    (Kind::Deliver, "0402D0410000621112500351000466F9BB0D", "- oa=5/0/A pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "0407D0C2B07B0D0000621112500351000466F9BB0D", "- oa=5/0/Bank pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "040DD0C3B0B9000808000000621112500351000466F9BB0D", "- oa=5/0/Café@£$ pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "040ED031D98C56B3DD700000621112500351000466F9BB0D", "- oa=5/0/12345678 pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "0414D0C8329BFD065DDF7236190000621112500351000466F9BB0D", "- oa=5/0/Hello World pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "0405802143F50000621112500351000466F9BB0D", "- oa=0/0/12345 pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "040BA17007900021F30000621112500351000466F9BB0D", "- oa=2/1/07700900123 pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "0405B91A00FB0000621112500351000466F9BB0D", "- oa=3/9/*100# pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "0401E0F10000621112500351000466F9BB0D", "- oa=6/0/1 pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "041491214365870921436587090000621112500351000466F9BB0D", "- oa=1/1/12345678901234567890 pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "040681C1D2E30000621112500351000466F9BB0D", "- oa=0/1/1a2b3c pid=00 dcs=00 at=261121053015+0 udh=- text=from"),
    (Kind::Deliver, "040C9144770009103200F062111250035100056676788E06", "- oa=1/1/447700900123 pid=00 dcs=f0 at=261121053015+0 udh=- text=flash"),
    (Kind::Deliver, "040C91447700091032001062111250035100056676788E06", "- oa=1/1/447700900123 pid=00 dcs=10 at=261121053015+0 udh=- text=flash"),
    (Kind::Deliver, "040C9144770009103200116211125003510002ED32", "- oa=1/1/447700900123 pid=00 dcs=11 at=261121053015+0 udh=- text=me"),
    (Kind::Deliver, "040C9144770009103200F26211125003510003F3741B", "- oa=1/1/447700900123 pid=00 dcs=f2 at=261121053015+0 udh=- text=sim"),
    (Kind::Deliver, "040C914477000910320048621112500351000E044304340430043B04380442044C", "- oa=1/1/447700900123 pid=00 dcs=48 at=261121053015+0 udh=- text=удалить"),
    (Kind::Deliver, "040C914477000910320018621112500351000E04320441043F044B0448043A0430", "- oa=1/1/447700900123 pid=00 dcs=18 at=261121053015+0 udh=- text=вспышка"),
    (Kind::Deliver, "040C9144770009103200C86211125003510002F636", "- oa=1/1/447700900123 pid=00 dcs=c8 at=261121053015+0 udh=- text=vm"),
    (Kind::Deliver, "040C9144770009103200D96211125003510003E6301E", "- oa=1/1/447700900123 pid=00 dcs=d9 at=261121053015+0 udh=- text=fax"),
    (Kind::Deliver, "040C9144770009103200E2621112500351000C043F04380441044C043C043E", "- oa=1/1/447700900123 pid=00 dcs=e2 at=261121053015+0 udh=- text=письмо"),
    (Kind::Deliver, "040C91447700091032410062111250035100061BC506B54901", "- oa=1/1/447700900123 pid=41 dcs=00 at=261121053015+0 udh=- text=\x0c{}"),
    (Kind::Deliver, "040C914477000910320004621112500351008C000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B", "- oa=1/1/447700900123 pid=00 dcs=04 at=261121053015+0 udh=- data=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b"),
    (Kind::Deliver, "040C9144770009103200F56211125003510004DEADBEEF", "- oa=1/1/447700900123 pid=00 dcs=f5 at=261121053015+0 udh=- data=deadbeef"),
    (Kind::Deliver, "040C9144770009103200166211125003510000", "- oa=1/1/447700900123 pid=00 dcs=16 at=261121053015+0 udh=- data="),
    (Kind::Deliver, "440C914477000910320000621112500351000F050003CC0201EA6434885E9ED301", "- oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=0003cc0201 text=udh test"),
    (Kind::Deliver, "440C9144770009103200006211125003510010060804CCDD030275321A442FCFE9", "- oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=0804ccdd0302 text=udh test"),
    (Kind::Deliver, "440C91447700091032000062111250035100100605040B8423F075321A442FCFE9", "- oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=05040b8423f0 text=udh test"),
    (Kind::Deliver, "440C91447700091032000062111250035100140904020B8400030102015027A341F4F29C0E", "- oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=04020b840003010201 text=udh test"),
    (Kind::Deliver, "440C914477000910320008621112500351000A03240101007500640068", "- oa=1/1/447700900123 pid=00 dcs=08 at=261121053015+0 udh=240101 text=udh"),
    (Kind::Deliver, "440C914477000910320008621112500351000A03250102007500640068", "- oa=1/1/447700900123 pid=00 dcs=08 at=261121053015+0 udh=250102 text=udh"),
    (Kind::Deliver, "440C914477000910320000621112500351000D03700102A893D1207A794E07", "- oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=700102 text=udh test"),
    (Kind::Deliver, "440C914477000910320000621112500351000E0401028003D4C96810BD3CA703", "- oa=1/1/447700900123 pid=00 dcs=00 at=261121053015+0 udh=01028003 text=udh test"),
    (Kind::Deliver, "440C914477000910320008621112500351000F080003010201240103007500640068", "- oa=1/1/447700900123 pid=00 dcs=08 at=261121053015+0 udh=0003010201240103 text=udh"),
    (Kind::Deliver, "440C9144770009103200086211125003510019060804CCDD0201041F044004380432043504420020D83DDE00", "- oa=1/1/447700900123 pid=00 dcs=08 at=261121053015+0 udh=0804ccdd0201 text=Привет 😀"),
    (Kind::Submit, "0100089194610010000000", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text="),
    (Kind::Submit, "010108919461001000000161", "- mr=1 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=a"),
    (Kind::Submit, "010608919461001000000661F1985C3603", "- mr=6 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=abcdef"),
    (Kind::Submit, "010708919461001000000761F1985C369F01", "- mr=7 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=abcdefg"),
    (Kind::Submit, "010808919461001000000861F1985C369FD1", "- mr=8 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=abcdefgh"),
    (Kind::Submit, "010908919461001000000961F1985C369FD169", "- mr=9 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=abcdefghi"),
    (Kind::Submit, "010E08919461001000000E61F1985C369FD169F59ADD7603", "- mr=14 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=abcdefghijklmn"),
    (Kind::Submit, "010F08919461001000000F61F1985C369FD169F59ADD76BF01", "- mr=15 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=abcdefghijklmno"),
    (Kind::Submit, "011008919461001000001061F1985C369FD169F59ADD76BFE1", "- mr=16 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=abcdefghijklmnop"),
    (Kind::Submit, "1100089194610010000000027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=rel:0 udh=- text=vp"),
    (Kind::Submit, "110008919461001000008F027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=rel:143 udh=- text=vp"),
    (Kind::Submit, "11000891946100100000A7027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=rel:167 udh=- text=vp"),
    (Kind::Submit, "11000891946100100000C4027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=rel:196 udh=- text=vp"),
    (Kind::Submit, "11000891946100100000FF027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=rel:255 udh=- text=vp"),
    (Kind::Submit, "1900089194610010000062211332959540027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=abs:261231235959+4 udh=- text=vp"),
    (Kind::Submit, "190008919461001000000010100000000C027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=abs:000101000000-40 udh=- text=vp"),
    (Kind::Submit, "0900089194610010000001AA0000000000027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=enh:rel:170 udh=- text=vp"),
    (Kind::Submit, "09000891946100100000421E0000000000027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=enh:once,s:30 udh=- text=vp"),
    (Kind::Submit, "0900089194610010000003102030000000027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=enh:c:010203 udh=- text=vp"),
    (Kind::Submit, "0900089194610010000040000000000000027638", "- mr=0 da=1/1/49160001 pid=00 dcs=00 vp=enh:once,- udh=- text=vp"),
    (Kind::Submit, "A50008919461001000000861361B244ED3E7", "rd,srr,rp mr=0 da=1/1/49160001 pid=00 dcs=00 vp=- udh=- text=all bits"),
    (Kind::Submit, "010007D049A7F109000009F437280C7287DB65", "- mr=0 da=5/0/INFO pid=00 dcs=00 vp=- udh=- text=to a name"),
    (Kind::Submit, "0100089194610010470007F2329C1D1E9701", "- mr=0 da=1/1/49160001 pid=47 dcs=00 vp=- udh=- text=replace"),
    (Kind::StatusReport, "0600089194610010621112500351006211125013000000", "- mr=0 ra=1/1/49160001 at=261121053015+0 dt=261121053100+0 st=00"),
    (Kind::StatusReport, "0601089194610010621112500351006211125013000001", "- mr=1 ra=1/1/49160001 at=261121053015+0 dt=261121053100+0 st=01"),
    (Kind::StatusReport, "0620089194610010621112500351006211125013000020", "- mr=32 ra=1/1/49160001 at=261121053015+0 dt=261121053100+0 st=20"),
    (Kind::StatusReport, "0630089194610010621112500351006211125013000030", "- mr=48 ra=1/1/49160001 at=261121053015+0 dt=261121053100+0 st=30"),
    (Kind::StatusReport, "0646089194610010621112500351006211125013000046", "- mr=70 ra=1/1/49160001 at=261121053015+0 dt=261121053100+0 st=46"),
    (Kind::StatusReport, "0665089194610010621112500351006211125013000065", "- mr=101 ra=1/1/49160001 at=261121053015+0 dt=261121053100+0 st=65"),
    (Kind::StatusReport, "2A01089194610010623092109595406230923000008000", "more,lp,srq mr=1 ra=1/1/49160001 at=260329015959+4 dt=260329030000+8 st=00"),
    (Kind::StatusReport, "06010891946100106211125003510062111250130000000700000377741E", "- mr=1 ra=1/1/49160001 at=261121053015+0 dt=261121053100+0 st=00"),
    (Kind::Command, "020000000708919461001000", "- mr=0 ct=0 mn=7 da=1/1/49160001"),
    (Kind::Command, "020100010708919461001000", "- mr=1 ct=1 mn=7 da=1/1/49160001"),
    (Kind::Command, "020200020708919461001000", "- mr=2 ct=2 mn=7 da=1/1/49160001"),
    (Kind::Command, "020300030708919461001000", "- mr=3 ct=3 mn=7 da=1/1/49160001"),
    (Kind::DeliverReport, "0000", ""),
    (Kind::DeliverReport, "0007000002EF35", ""),
    (Kind::DeliverReportError, "00D300", "fcs=d3"),
    (Kind::DeliverReportError, "00D50700F6029000", "fcs=d5"),
    (Kind::SubmitReport, "010062111250035100", "at=261121053015+0"),
    (Kind::SubmitReportError, "01C50062111250035149", "fcs=c5 at=261121053015-14"),
];

#[test]
fn other_programs_read_and_write_the_same() {
    for (kind, hex, expected) in READINGS {
        let octets = given(hex);
        let read = examine(*kind, &octets);
        assert_eq!(read.notes.oddities, [], "{hex}");
        let tpdu = read.tpdu.unwrap_or_else(|fault| panic!("{hex}: {fault}"));
        assert_eq!(reading(&tpdu), *expected, "{hex}");
        assert_eq!(tpdu.encode().unwrap(), octets, "{hex}");
    }
}

/// A TPDU in one line: the flags that are set, then its fields by their names in the standard.
fn reading(tpdu: &Tpdu) -> String {
    let fields = match tpdu {
        Tpdu::Deliver(deliver) => vec![
            flags(&[
                ("more", deliver.more_messages),
                ("lp", deliver.loop_prevention),
                ("sri", deliver.status_report_indication),
                ("rp", deliver.reply_path),
            ]),
            address("oa", &deliver.originating_address),
            scheme(deliver.protocol_identifier, deliver.data_coding),
            time("at", &deliver.service_centre_time_stamp),
            text(&deliver.user_data, deliver.data_coding),
        ],
        Tpdu::Submit(submit) => vec![
            flags(&[
                ("rd", submit.reject_duplicates),
                ("srr", submit.status_report_request),
                ("rp", submit.reply_path),
            ]),
            format!("mr={}", submit.message_reference),
            address("da", &submit.destination_address),
            scheme(submit.protocol_identifier, submit.data_coding),
            validity(&submit.validity),
            text(&submit.user_data, submit.data_coding),
        ],
        Tpdu::StatusReport(report) => vec![
            flags(&[
                ("more", report.more_messages),
                ("lp", report.loop_prevention),
                ("srq", report.of_command),
            ]),
            format!("mr={}", report.message_reference),
            address("ra", &report.recipient_address),
            time("at", &report.service_centre_time_stamp),
            time("dt", &report.discharge_time),
            format!("st={:02x}", report.status),
        ],
        Tpdu::Command(command) => vec![
            flags(&[("srr", command.status_report_request)]),
            format!("mr={}", command.message_reference),
            format!("ct={}", command.command_type),
            format!("mn={}", command.message_number),
            address("da", &command.destination_address),
        ],
        Tpdu::DeliverReport(report) => vec![cause(report.failure_cause)],
        Tpdu::SubmitReport(report) => vec![
            cause(report.failure_cause),
            time("at", &report.service_centre_time_stamp),
        ],
    };
    let fields: Vec<String> = fields
        .into_iter()
        .filter(|field| !field.is_empty())
        .collect();
    fields.join(" ")
}

fn flags(all: &[(&str, bool)]) -> String {
    let set: Vec<&str> = (all.iter())
        .filter_map(|(name, is_set)| is_set.then_some(*name))
        .collect();
    match set.is_empty() {
        true => "-".to_owned(),
        false => set.join(","),
    }
}

fn address(name: &str, address: &Address) -> String {
    format!("{name}={}/{}/{}", address.ton, address.npi, address.text)
}

fn scheme(protocol_identifier: u8, data_coding: u8) -> String {
    format!("pid={protocol_identifier:02x} dcs={data_coding:02x}")
}

fn time(name: &str, stamp: &TimeStamp) -> String {
    let TimeStamp {
        year,
        month,
        day,
        hour,
        minute,
        second,
        zone,
    } = stamp;
    format!("{name}={year:02}{month:02}{day:02}{hour:02}{minute:02}{second:02}{zone:+}")
}

fn validity(validity: &Validity) -> String {
    match validity {
        Validity::Absent => "vp=-".to_owned(),
        Validity::Relative(octet) => format!("vp=rel:{octet}"),
        Validity::Absolute(stamp) => time("vp", stamp).replace("vp=", "vp=abs:"),
        Validity::Enhanced(enhanced) => {
            let once = if enhanced.single_shot { "once," } else { "" };
            let period = match enhanced.period {
                Period::Absent => "-".to_owned(),
                Period::Relative(octet) => format!("rel:{octet}"),
                Period::Seconds(seconds) => format!("s:{seconds}"),
                Period::Clock {
                    hours,
                    minutes,
                    seconds,
                } => format!("c:{hours:02}{minutes:02}{seconds:02}"),
                Period::Reserved(format) => format!("reserved:{format}"),
            };
            format!("vp=enh:{once}{period}")
        }
    }
}

fn text(user_data: &UserData, data_coding: u8) -> String {
    let header = match user_data.header.encode() {
        header if header.is_empty() => "-".to_owned(),
        header => lower_hex(&header[1..]),
    };
    match user_data.text(data_coding) {
        Some(text) => format!("udh={header} text={text}"),
        None => format!("udh={header} data={}", lower_hex(&user_data.body)),
    }
}

fn cause(cause: Option<u8>) -> String {
    cause.map_or_else(String::new, |cause| format!("fcs={cause:02x}"))
}

fn lower_hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
