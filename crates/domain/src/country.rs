//! The country of a number: by its country code (ITU-T E.164), and its area code where countries share one.
//!
//! Used to count usage and failures. A country is its code of ISO 3166-1, two letters; codes that belong to no country
//! (satellites, international networks) are [`SHARED`]. Numbers that are not international have none.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::address;
use super::route::Trie;

/// In place of a country for codes of networks without one, such as +870 and +883.
pub const SHARED: &str = "001";
/// Digits of the shortest number that is taken for an international one; shorter ones are short codes.
pub const SHORTEST: usize = 7;
/// First digits by which a database may count numbers: they have one country, but for those of [`long_heads`].
pub const HEAD: usize = 6;
/// Digits of the longest prefix.
pub const LONGEST: usize = 9;

/// Countries and their prefixes.
const TABLE: &str = "
US 1
CA 1204 1226 1236 1249 1250 1257 1263 1289 1306 1343 1354 1365 1367 1368 1382 1387 1403 1416 1418 1428 1431 1437
CA 1438 1450 1460 1468 1474 1506 1514 1519 1548 1579 1581 1584 1587 1600 1604 1613 1639 1647 1672 1683 1705 1709
CA 1742 1753 1778 1780 1782 1807 1819 1825 1867 1873 1879 1902 1905 1942
BS 1242
BB 1246
AI 1264
AG 1268
VG 1284
VI 1340
KY 1345
BM 1441
GD 1473
TC 1649
JM 1658 1876
MS 1664
MP 1670
GU 1671
AS 1684
SX 1721
LC 1758
DM 1767
VC 1784
PR 1787 1939
DO 1809 1829 1849
TT 1868
KN 1869
EG 20
SS 211
MA 212
EH 2125288 2125289
DZ 213
TN 216
LY 218
GM 220
SN 221
MR 222
ML 223
GN 224
CI 225
BF 226
NE 227
TG 228
BJ 229
MU 230
LR 231
SL 232
GH 233
NG 234
TD 235
CF 236
CM 237
CV 238
ST 239
GQ 240
GA 241
CG 242
CD 243
AO 244
GW 245
IO 246
SC 248
SD 249
RW 250
ET 251
SO 252
DJ 253
KE 254
TZ 255
UG 256
BI 257
MZ 258
ZM 260
MG 261
RE 262
YT 262269 262639
ZW 263
NA 264
MW 265
LS 266
BW 267
SZ 268
KM 269
ZA 27
SH 290 247
ER 291
AW 297
FO 298
GL 299
GR 30
NL 31
BE 32
FR 33
ES 34
GI 350
PT 351
LU 352
IE 353
IS 354
AL 355
MT 356
CY 357
FI 358
AX 35818
BG 359
HU 36
LT 370
LV 371
EE 372
MD 373
AM 374
BY 375
AD 376
MC 377
SM 378
VA 379 3906698
UA 380
RS 381
ME 382
XK 383
HR 385
SI 386
BA 387
MK 389
IT 39
RO 40
CH 41
CZ 420
SK 421
LI 423
AT 43
GB 44
GG 441481 447781 447839 447911
JE 441534 447509 447700300 447797 447829 447937
IM 441624 447524 447624 447924
DK 45
SE 46
NO 47
SJ 4779
PL 48
DE 49
FK 500
BZ 501
GT 502
SV 503
HN 504
NI 505
CR 506
PA 507
PM 508
HT 509
PE 51
MX 52
CU 53
AR 54
BR 55
CL 56
CO 57
VE 58
GP 590
BO 591
GY 592
EC 593
GF 594
PY 595
MQ 596
SR 597
UY 598
CW 599
BQ 5993 5994 5997
MY 60
AU 61
CX 6189164
CC 6189162
ID 62
PH 63
NZ 64
SG 65
TH 66
TL 670
NF 6723
AQ 6721
BN 673
NR 674
PG 675
TO 676
SB 677
VU 678
FJ 679
PW 680
WF 681
CK 682
NU 683
WS 685
KI 686
NC 687
TV 688
PF 689
TK 690
FM 691
MH 692
RU 7
KZ 76 77
001 800 808 870 878 881 882 883 888 979
JP 81
KR 82
VN 84
KP 850
HK 852
MO 853
KH 855
LA 856
CN 86
BD 880
TW 886
TR 90
IN 91
PK 92
AF 93
LK 94
MM 95
MV 960
LB 961
JO 962
SY 963
IQ 964
KW 965
SA 966
YE 967
OM 968
PS 970
AE 971
IL 972
BH 973
QA 974
BT 975
MN 976
NP 977
IR 98
TJ 992
TM 993
AZ 994
GE 995
KG 996
UZ 998
";

static BY_PREFIX: LazyLock<Trie<&'static str>> = LazyLock::new(|| {
    let mut table = Trie::default();
    for (prefix, country) in rows() {
        *table.entry(prefix.as_bytes()) = Some(country);
    }
    table
});

/// Every prefix with its country.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.lines().flat_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let country = words.next().unwrap_or_default();
        words.map(move |prefix| (prefix, country))
    })
}

/// The country of an international number, with or without a leading `+`; empty for anything else.
pub fn of_number(number: &[u8]) -> &'static str {
    let digits = address::normalise(number);
    if digits.len() < SHORTEST {
        return "";
    }
    of_head(digits)
}

/// The country of the first digits of such a number, without a `+`: [`HEAD`] of them, or [`LONGEST`] where they are one of
/// [`long_heads`].
pub fn of_head(digits: &[u8]) -> &'static str {
    if !address::is_digits(digits) {
        return "";
    }
    BY_PREFIX.longest(digits).map_or("", |(_, country)| country)
}

/// The first digits below which there is more than one country.
pub fn long_heads() -> BTreeSet<&'static str> {
    rows()
        .filter(|(prefix, _)| prefix.len() > HEAD)
        .map(|(prefix, _)| &prefix[..HEAD])
        .collect()
}

/// The prefixes of all countries.
pub fn every_prefix() -> impl Iterator<Item = &'static str> {
    rows().map(|(prefix, _)| prefix)
}

/// The country with this code, which has prefixes here.
pub fn of_code(code: &str) -> Option<&'static str> {
    let known = rows().find(|(_, country)| *country == code);
    known.map(|(_, country)| country)
}

/// The prefixes of a country, and those longer ones that are of others.
pub fn prefixes(country: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    let own: Vec<&str> = rows()
        .filter(|(_, of)| *of == country)
        .map(|(prefix, _)| prefix)
        .collect();
    let others = rows()
        .filter(|(prefix, of)| *of != country && own.iter().any(|one| prefix.starts_with(one)))
        .map(|(prefix, _)| prefix);
    let others = others.collect();
    (own, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_has_the_country() {
        for (number, country) in [
            ("447700900123", "GB"),
            ("+447624000000", "IM"),
            ("12025550100", "US"),
            ("14165550100", "CA"),
            ("18765550100", "JM"),
            ("77015550100", "KZ"),
            ("79015550100", "RU"),
            ("41791234567", "CH"),
            ("358401234567", "FI"),
            ("35818123456", "AX"),
            ("8821612345678", SHARED),
            ("2101234567", ""),
            ("12345", ""),
            ("ACME", ""),
            ("", ""),
        ] {
            assert_eq!(of_number(number.as_bytes()), country, "{number}");
        }
    }

    #[test]
    fn heads_of_numbers_are_enough_for_their_country() {
        let long = long_heads();
        assert!(long.contains("447700") && !long.contains("441534"));
        for (prefix, country) in rows() {
            assert!(prefix.len() <= LONGEST, "{prefix}");
            let number = format!("{prefix}000000000");
            let length = if long.contains(&number[..HEAD]) {
                LONGEST
            } else {
                HEAD
            };
            assert_eq!(
                of_head(&number.as_bytes()[..length]),
                of_number(number.as_bytes()),
                "{prefix} of {country}"
            );
        }
    }

    #[test]
    fn a_country_is_its_prefixes_without_those_of_others() {
        assert_eq!(prefixes("DE"), (vec!["49"], vec![]));
        assert_eq!(prefixes("RU"), (vec!["7"], vec!["76", "77"]));
        assert_eq!(of_code("DE"), Some("DE"));
        assert_eq!(of_code("de"), None);
        for (prefix, country) in rows() {
            let (own, others) = prefixes(country);
            let is_own = |number: &str| {
                own.iter().any(|one| number.starts_with(one))
                    && !others.iter().any(|one| number.starts_with(one))
            };
            assert!(is_own(prefix), "{prefix} is of {country}");
        }
    }

    #[test]
    fn every_prefix_is_of_one_country() {
        let mut all: Vec<&str> = Vec::new();
        for line in TABLE.lines().filter(|line| !line.is_empty()) {
            let mut words = line.split_ascii_whitespace();
            let country = words.next().unwrap();
            assert!((2..=3).contains(&country.len()), "{line}");
            for prefix in words {
                assert!(address::is_digits(prefix.as_bytes()), "{line}");
                assert!(!all.contains(&prefix), "{prefix}");
                all.push(prefix);
            }
        }
        assert!(all.len() > 250);
    }
}
