package cli

import (
	"regexp"
	"strings"
)

// inWords returns the text of an error of the parser. Where a value is of the wrong kind, the parser speaks
// of Go.
func inWords(err error) string {
	text := err.Error()
	for _, kind := range []struct{ said, rule string }{
		{`expected a valid \d+ bit int but got ("[^"]*")`, "a whole number"},
		{`expected a valid \d+ bit uint but got ("[^"]*")`, "a whole number from 0"},
		{`expected a float but got ("[^"]*") \(\w+\)`, "a number"},
		{`expected duration but got ("[^"]*"): .*`, "a length of time such as 90s, 10m or 2h"},
		{`bool value must be true, 1, yes, false, 0 or no but got ("[^"]*")`, "true or false"},
	} {
		parts := regexp.MustCompile(kind.said + "$").FindStringSubmatchIndex(text)
		if parts == nil {
			continue
		}
		value := text[parts[2]:parts[3]]
		return text[:parts[0]] + value + ": must be " + kind.rule + tooLarge(value)
	}
	return regexp.MustCompile(`expected \w+ value but got "EOL" \(<EOL>\)`).ReplaceAllString(text, "a value is missing")
}

// tooLarge says so of a number.
func tooLarge(value string) string {
	const digits = 18 // of which any number fits
	number := strings.TrimPrefix(strings.Trim(value, `"`), "-")
	if len(number) > digits && strings.Trim(number, "0123456789") == "" {
		return ", and not so large"
	}
	return ""
}

// Quoted quotes a word for a shell, if needed.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+,:=@~", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
