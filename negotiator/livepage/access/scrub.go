package access

import "strings"

// mostOdd is how many names are looked for in texts that are no words.
const mostOdd = 256

// mostJobs is how many names of jobs are looked for in texts; the usual ones are numbers, and stay.
const mostJobs = 4096

// hidden stands for a text in which names could be that are not to be seen.
const hidden = "(not shown, as it may name others)"

// word is what stands for a user, a group or a job in a text. Name is the user's, or the job's owner's.
type word struct{ name, alias string }

// noteJob remembers that a job of a user has a name that tells something.
func (a *Aliases) noteJob(user, name, alias string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.words[name]; known || name == "" {
		return
	}
	if a.jobs++; a.jobs > mostJobs {
		a.tooOdd = true
		return
	}
	name = strings.Clone(name)
	if strings.ContainsFunc(name, func(r rune) bool { return !inWord(r) }) {
		a.noteOdd(name, word{strings.Clone(user), alias})
		return
	}
	a.words[name] = word{strings.Clone(user), alias}
}

// noteOdd remembers a name that is no word.
func (a *Aliases) noteOdd(name string, known word) {
	if a.tooOdd = a.tooOdd || len(a.odd) == mostOdd; !a.tooOdd {
		a.odd = append(a.odd, name)
		a.words[name] = known
	}
}

// note remembers how a name is found in texts: as a whole, and a user without his domain. The name
// that came first counts.
func (a *Aliases) note(name, alias string) {
	if strings.ContainsFunc(name, func(r rune) bool { return !inWord(r) }) {
		a.noteOdd(name, word{name, alias})
		return
	}
	short, _, _ := strings.Cut(name, "@")
	for _, text := range []string{name, short} {
		if _, taken := a.words[text]; !taken && text != "" {
			a.words[text] = word{name, alias}
		}
	}
}

// inWord reports whether a character can be within a name that is a word.
func inWord(r rune) bool {
	return r == '_' || r == '.' || r == '@' || r == '-' || r == '+' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' ||
		r >= 'A' && r <= 'Z' || r >= 0x80
}

// Scrub returns a text, such as why a job waits, with pseudonyms for all names in it that the viewer
// may not read. Names are found that pseudonyms were asked for before. A word that is somebody's name
// by chance is replaced as well.
func (l Lens) Scrub(text string) string {
	if l.Clear() {
		return text
	}
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	if l.a.tooOdd {
		return hidden
	}
	for _, name := range l.a.odd {
		if !l.viewer.is(l.a.words[name].name) {
			text = strings.ReplaceAll(text, name, l.a.words[name].alias)
		}
	}
	var out strings.Builder
	for len(text) > 0 {
		end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(text)
		}
		l.write(&out, text[:end])
		text = text[end:]
		next := strings.IndexFunc(text, inWord)
		if next < 0 {
			next = len(text)
		}
		out.WriteString(text[:next])
		text = text[next:]
	}
	return out.String()
}

// write writes a word, or what stands for it: for the whole, for all but the dots at its end, or for
// each of its parts.
func (l Lens) write(out *strings.Builder, text string) {
	core := strings.TrimRight(text, ".-")
	for _, whole := range []string{text, core} {
		if known, ok := l.a.words[whole]; ok {
			out.WriteString(l.shown(known, whole))
			out.WriteString(text[len(whole):])
			return
		}
	}
	for len(text) > 0 {
		end := strings.IndexAny(text, ".@")
		if end < 0 {
			end = len(text)
		}
		part := text[:end]
		if known, ok := l.a.words[part]; ok {
			part = l.shown(known, part)
		}
		out.WriteString(part)
		out.WriteString(text[end:min(end+1, len(text))])
		text = text[min(end+1, len(text)):]
	}
}

// shown returns a name as the viewer may read it.
func (l Lens) shown(known word, text string) string {
	if l.viewer.is(known.name) {
		return text
	}
	return known.alias
}
