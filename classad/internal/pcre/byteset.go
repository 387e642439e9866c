package pcre

// byteSet is a set of bytes, one bit each.
type byteSet [8]uint32

func (s *byteSet) has(b byte) bool { return s[b>>5]>>(b&31)&1 != 0 }
func (s *byteSet) add(b byte)      { s[b>>5] |= 1 << (b & 31) }

func (s *byteSet) addRange(from, to byte) {
	for b := int(from); b <= int(to); b++ {
		s.add(byte(b))
	}
}

func (s *byteSet) union(other *byteSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s *byteSet) overlaps(other *byteSet) bool {
	for i := range s {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

func (s *byteSet) inverse() byteSet {
	var out byteSet
	for i := range s {
		out[i] = ^s[i]
	}
	return out
}

// folded returns the set with both cases of every ASCII letter in it; there are no other letters in
// the C locale.
func (s *byteSet) folded() byteSet {
	out := *s
	for b := byte('a'); b <= 'z'; b++ {
		if upper := b &^ 0x20; s.has(b) || s.has(upper) {
			out.add(b)
			out.add(upper)
		}
	}
	return out
}

// size returns the number of bytes in the set, but at most 2, and the last byte that was counted.
func (s *byteSet) size() (count int, last byte) {
	for b := 0; b < 256 && count < 2; b++ {
		if s.has(byte(b)) {
			count, last = count+1, byte(b)
		}
	}
	return count, last
}

// lower returns ASCII letters in lower case and other bytes unchanged.
func lower(b byte) byte {
	if b-'A' < 26 {
		return b | 0x20
	}
	return b
}

func isDigit(b byte) bool  { return b-'0' < 10 }
func isLetter(b byte) bool { return lower(b)-'a' < 26 }
func isWord(b byte) bool   { return isLetter(b) || isDigit(b) || b == '_' }
func isSpace(b byte) bool  { return b == ' ' || b-'\t' < 5 }

func setOf(bytes string) byteSet {
	var s byteSet
	for i := range len(bytes) {
		s.add(bytes[i])
	}
	return s
}

func setWhere(in func(byte) bool) byteSet {
	var s byteSet
	for b := range 256 {
		if in(byte(b)) {
			s.add(byte(b))
		}
	}
	return s
}

func isPrint(b byte) bool { return b-' ' < 95 }
func isPunct(b byte) bool { return isPrint(b) && b != ' ' && !isLetter(b) && !isDigit(b) }

var (
	allBytes      = setWhere(func(byte) bool { return true })
	notNewline    = setWhere(func(b byte) bool { return b != '\n' })
	digits        = setWhere(isDigit)
	letters       = setWhere(isLetter)
	wordBytes     = setWhere(isWord)
	spaces        = setWhere(isSpace)
	horizontal    = setOf("\t \xa0")
	vertical      = setOf("\n\v\f\r\x85")
	carriageOrNew = setOf("\r\n")
)

// typeSets are the sets of \d and similar escapes; the upper case letter is the inverse.
var typeSets = map[byte]byteSet{'d': digits, 'w': wordBytes, 's': spaces, 'h': horizontal, 'v': vertical}

// posixSets are the sets that may be named between [: and :] in a class.
var posixSets = map[string]byteSet{
	"alpha":  letters,
	"lower":  setWhere(func(b byte) bool { return b-'a' < 26 }),
	"upper":  setWhere(func(b byte) bool { return b-'A' < 26 }),
	"alnum":  setWhere(func(b byte) bool { return isLetter(b) || isDigit(b) }),
	"ascii":  setWhere(func(b byte) bool { return b < 0x80 }),
	"blank":  setOf(" \t"),
	"cntrl":  setWhere(func(b byte) bool { return b < ' ' || b == 0x7f }),
	"digit":  digits,
	"graph":  setWhere(func(b byte) bool { return isPrint(b) && b != ' ' }),
	"print":  setWhere(isPrint),
	"punct":  setWhere(isPunct),
	"space":  spaces,
	"word":   wordBytes,
	"xdigit": setOf("0123456789abcdefABCDEF"),
}
