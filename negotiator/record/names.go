package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NamesEnd is what the file of pseudonyms has behind the name of its record.
const NamesEnd = ".names"

// names are pseudonyms for words: users, groups, machines, folders. The same word always has the same one, also in
// the next record of the same path: the file of names has them, and is for its owner alone.
type names struct {
	file   *os.File
	words  map[string]string // by word, in lower case as ads do not heed it
	count  map[string]int    // of pseudonyms, by what they begin with
	queues []queue           // by name: pseudonyms of queues are in the same order
	err    error             // why nothing more could be written
	// inAd says that a number is a name if it is known as one: the labels of a job, which have its user, are written
	// before its ad. Elsewhere it would be one only from some instant on, and states would differ.
	inAd bool
}

type queue struct{ name, pseudonym string }

// openNames reads the pseudonyms that are known already.
func openNames(path string) (*names, error) {
	n := &names{words: map[string]string{}, count: map[string]int{}}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("record: the pseudonyms: %w", err)
	}
	// The last line of a process that was killed may end within a pseudonym, which could then be another's.
	whole := bytes.LastIndexByte(text, '\n') + 1
	for line := range strings.Lines(string(text[:whole])) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		word, pseudonym, found := strings.Cut(rest, "\t")
		if kind == queueKind {
			word, err = strconv.Unquote(word)
			found = found && err == nil
		}
		switch {
		case !found:
			return nil, fmt.Errorf("record: %s: %q is no line of pseudonyms; name another record", path, line[:min(len(line), 80)])
		case kind == queueKind:
			n.addQueue(queue{word, pseudonym})
		default:
			n.words[word] = pseudonym
			n.count[kind]++
		}
	}
	n.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil && whole < len(text) {
		err = n.file.Truncate(int64(whole))
	}
	if err != nil {
		return nil, fmt.Errorf("record: the pseudonyms: %w", err)
	}
	return n, nil
}

func (n *names) put(line string) {
	if n.err == nil {
		_, n.err = n.file.WriteString(line)
	}
}

// What pseudonyms begin with.
const (
	userKind  = "user"
	groupKind = "group"
	hostKind  = "host"
	wordKind  = "word"
	queueKind = "queue"
)

// address is what names a machine in numbers: of the network, with dots, colons or, as in ads, hyphens; or of a card.
var address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|` +
	`\b[[:xdigit:]]{1,4}([:-][[:xdigit:]]{1,4}){5,7}\b|` +
	`\b[[:xdigit:]]{1,4}([:-][[:xdigit:]]{1,4})*(::|--)([[:xdigit:]]{1,4}([:-][[:xdigit:]]{1,4})*\b)?`)

// text replaces the words and addresses of a text, except numbers and words that say nothing of anybody.
func (n *names) text(kind, text string) string {
	var b strings.Builder
	for {
		at := address.FindStringIndex(text)
		if at == nil {
			n.plain(&b, kind, text)
			return b.String()
		}
		n.plain(&b, kind, text[:at[0]])
		b.WriteString(n.pseudonym(hostKind, strings.ToLower(text[at[0]:at[1]])))
		text = text[at[1]:]
	}
}

// plain replaces the words of a text without addresses.
func (n *names) plain(b *strings.Builder, kind, text string) {
	for len(text) > 0 {
		end := strings.IndexFunc(text, isNoLetter)
		if end < 0 {
			end = len(text)
		}
		if end == 0 {
			end = strings.IndexFunc(text, func(r rune) bool { return !isNoLetter(r) })
			if end < 0 {
				end = len(text)
			}
			b.WriteString(text[:end])
		} else {
			b.WriteString(n.word(kind, text[:end]))
		}
		text = text[end:]
	}
}

func isNoLetter(r rune) bool {
	return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// shortestLogin is how many characters a number has at least that is the name of a user or group. Shorter ones are in
// names of groups and machines for another reason.
const shortestLogin = 4

func (n *names) word(kind, word string) string {
	lower := strings.ToLower(word)
	isLogin := (kind == userKind || kind == groupKind) && len(lower) >= shortestLogin && number.MatchString(lower)
	if _, known := n.words[lower]; isCommon(lower) && !isLogin && (!n.inAd || !known) {
		return word
	}
	return n.pseudonym(kind, lower)
}

// pseudonym returns that of a word in lower case.
func (n *names) pseudonym(kind, lower string) string {
	pseudonym, known := n.words[lower]
	if !known {
		n.count[kind]++
		pseudonym = kind + strconv.Itoa(n.count[kind])
		n.words[lower] = pseudonym
		n.put(kind + "\t" + lower + "\t" + pseudonym + "\n")
	}
	return pseudonym
}

// queue replaces the name of a queue, by which jobs of the same second are ordered, so that they stay so.
func (n *names) queue(name string) string {
	if name == "" {
		return ""
	}
	i, known := slices.BinarySearchFunc(n.queues, name, func(q queue, name string) int { return strings.Compare(q.name, name) })
	if known {
		return n.queues[i].pseudonym
	}
	low, high := "", ""
	if i > 0 {
		low = strings.TrimPrefix(n.queues[i-1].pseudonym, queueKind)
	}
	if i < len(n.queues) {
		high = strings.TrimPrefix(n.queues[i].pseudonym, queueKind)
	}
	q := queue{name, queueKind + between(low, high)}
	n.addQueue(q)
	n.put(queueKind + "\t" + strconv.Quote(q.name) + "\t" + q.pseudonym + "\n")
	return q.pseudonym
}

func (n *names) addQueue(q queue) {
	i, _ := slices.BinarySearchFunc(n.queues, q.name, func(q queue, name string) int { return strings.Compare(q.name, name) })
	n.queues = slices.Insert(n.queues, i, q)
}

// between returns a text of digits between two others; "" stands for no bound. None ends with 0.
func between(low, high string) string {
	var b []byte
	for i := 0; ; i++ {
		from, to := byte('0'), byte('9'+1)
		if i < len(low) {
			from = low[i]
		}
		if i < len(high) {
			to = high[i]
		}
		switch {
		case from == to:
			b = append(b, from)
		case to-from > 1:
			return string(append(b, from+(to-from)/2))
		default: // the digit of the lower one, and then anything above it
			b, high = append(b, from), ""
		}
	}
}

// ad replaces the texts in an ad, which is in brackets. Names of attributes and functions stay.
func (n *names) ad(text string) string {
	n.inAd = true
	defer func() { n.inAd = false }()
	var b strings.Builder
	for {
		begin := strings.IndexAny(text, `"'`)
		if begin < 0 {
			b.WriteString(text)
			return b.String()
		}
		quote := text[begin]
		end := begin + 1
		for end < len(text) && text[end] != quote {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(text))
		inside := text[begin+1 : end]
		b.WriteString(text[:begin+1])
		if quote == '"' {
			inside = n.literal(inside)
		}
		b.WriteString(inside)
		text = text[end:]
		if text != "" {
			b.WriteByte(quote)
			text = text[1:]
		}
	}
}

// literal replaces the words of a literal, and leaves what is escaped but for letters.
func (n *names) literal(text string) string {
	var b strings.Builder
	var plain []byte
	flush := func() {
		for _, c := range []byte(n.text(wordKind, string(plain))) {
			if c < utf8.RuneSelf {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		plain = plain[:0]
	}
	for len(text) > 0 {
		if text[0] != '\\' || len(text) == 1 {
			plain, text = append(plain, text[0]), text[1:]
			continue
		}
		if len(text) >= 4 {
			if c, err := strconv.ParseUint(text[1:4], 8, 8); err == nil {
				if c >= utf8.RuneSelf {
					plain = append(plain, byte(c))
				} else {
					flush()
					b.WriteString(text[:4])
				}
				text = text[4:]
				continue
			}
		}
		flush()
		b.WriteString(text[:2])
		text = text[2:]
	}
	flush()
	return b.String()
}

// close closes the file of names, if it is open.
func (n *names) close() error {
	if err := n.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
