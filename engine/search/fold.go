package search

import (
	"unicode"
	"unicode/utf8"
)

// plainLetters are the Latin letters that people leave the marks off when they type, by what they type instead.
var plainLetters = map[string]string{
	"a":  "àáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ",
	"ae": "æǣǽ",
	"b":  "ḃḅḇ",
	"c":  "çćĉċčḉ",
	"d":  "ðďđḋḍḏḑḓ",
	"dz": "ǆǳ",
	"e":  "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ",
	"f":  "ḟ",
	"g":  "ĝğġģǧǵḡ",
	"h":  "ĥħȟḣḥḧḩḫẖ",
	"i":  "ìíîïĩīĭįİıǐȉȋḭḯỉị",
	"ij": "ĳ",
	"j":  "ĵǰ",
	"k":  "ķĸǩḱḳḵ",
	"l":  "ĺļľŀłḷḹḻḽ",
	"lj": "ǉ",
	"m":  "ḿṁṃ",
	"n":  "ñńņňŉŋǹṅṇṉṋ",
	"nj": "ǌ",
	"o":  "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ",
	"oe": "œ",
	"p":  "ṕṗ",
	"r":  "ŕŗřȑȓṙṛṝṟ",
	"s":  "śŝşšſșṡṣṥṧṩẛ",
	"ss": "ß",
	"t":  "ţťŧțṫṭṯṱẗ",
	"th": "þ",
	"u":  "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự",
	"v":  "ṽṿ",
	"w":  "ŵẁẃẅẇẉẘ",
	"x":  "ẋẍ",
	"y":  "ýÿŷȳẏẙỳỵỷỹ",
	"z":  "źżžẑẓẕ",
}

// foldTable is plainLetters by letter, "" for letters that stay.
var foldTable = func() map[rune]string {
	out := map[rune]string{}
	for plain, letters := range plainLetters {
		for _, r := range letters {
			out[r] = plain
		}
	}
	return out
}()

// appendFolded appends a letter as terms have it: in lower case, without Latin marks, full width as plain. Combining marks over Latin
// letters give nothing.
func appendFolded(out []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(out, byte(r))
	}
	if 0x300 <= r && r <= 0x36f {
		return out
	}
	if 0xff01 <= r && r <= 0xff5e {
		return appendFolded(out, r-0xff01+'!')
	}
	// By way of the upper case, so that the two small sigmas are one.
	r = unicode.ToLower(unicode.ToUpper(r))
	if plain, ok := foldTable[r]; ok {
		return append(out, plain...)
	}
	return utf8.AppendRune(out, r)
}

// isWord: letters, digits, the marks on them, and the underscore of identifiers.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// isUnspaced: scripts that put no space between words.
func isUnspaced(r rune) bool {
	if r < 0xe00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r == '\u30fc' || r == '\uff70'
}
