package backfill

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of the texts with which a policy describes itself. They are printed on terminals and
// written to logs, and may come from a stranger's plugin.
const (
	maxName    = 40   // letters in a policy's or an option's name, or a choice
	maxText    = 2000 // letters in any other text
	maxOptions = 100  // options of a policy, and choices of one option
)

// Validate returns an error if the description of the policy is invalid: malformed names, texts
// that are too long or cannot be printed, an order that is not built in, options that occur twice,
// empty ranges, or defaults that their options do not accept.
func (s PolicySpec) Validate() error {
	if err := checkName(s.Name); err != nil {
		return fmt.Errorf("the policy's name %w", err)
	}
	if err := s.validate(); err != nil {
		return fmt.Errorf("policy %s: %w", s.Name, err)
	}
	return nil
}

func (s PolicySpec) validate() error {
	for _, text := range []struct{ what, text string }{
		{"description", s.Doc},
		{"promise", s.Promise},
		{"source", s.Source},
		{"estimator", s.Estimates},
	} {
		if err := checkText(text.text); err != nil {
			return fmt.Errorf("its %s %w", text.what, err)
		}
	}
	if err := s.checkOrder(); err != nil {
		return err
	}
	if len(s.Options) > maxOptions {
		return fmt.Errorf("it has %d options: must be at most %d", len(s.Options), maxOptions)
	}
	seen := make(map[string]bool, len(s.Options))
	for _, o := range s.Options {
		if err := checkName(o.Name); err != nil {
			return fmt.Errorf("the name of an option %w", err)
		}
		if seen[o.Name] {
			return fmt.Errorf("option %s is there twice", o.Name)
		}
		seen[o.Name] = true
		if err := o.validate(); err != nil {
			return fmt.Errorf("option %s: %w", o.Name, err)
		}
	}
	return nil
}

// checkOrder returns an error if the policy names an order that there is not, or that it ignores.
func (s PolicySpec) checkOrder() error {
	if s.Order == "" {
		return nil
	}
	if _, err := OrderNamed(s.Order); err != nil {
		return fmt.Errorf("its order: %w", err)
	}
	if s.IgnoresOrder {
		return fmt.Errorf("it ignores the order, and names one, %s", s.Order)
	}
	return nil
}

func (o Option) validate() error {
	if err := checkText(o.Doc); err != nil {
		return fmt.Errorf("its description %w", err)
	}
	if int(o.Type) >= len(optionTypes) {
		return fmt.Errorf("there is no %v of options", o.Type)
	}
	if err := o.validateRange(); err != nil {
		return err
	}
	if err := o.validateChoices(); err != nil {
		return err
	}
	if err := checkText(o.Default); err != nil {
		return fmt.Errorf("its default %w", err)
	}
	if err := o.check(o.Default); err != nil {
		return fmt.Errorf("its default %q %w", o.Default, err)
	}
	return nil
}

func (o Option) validateRange() error {
	switch r := o.Range; {
	case r == Range{}:
	case o.Type != WholeNumber && o.Type != Number && o.Type != LengthOfTime:
		return fmt.Errorf("it has a range: a %v has none", o.Type)
	case math.IsNaN(r.Low) || math.IsNaN(r.High):
		return errors.New("its range has a bound that is no number")
	case r.Low > r.High || math.IsInf(r.Low, 1) || math.IsInf(r.High, -1):
		return fmt.Errorf("its range from %v to %v holds nothing: use AtLeast or AtMost for one bound", r.Low, r.High)
	}
	return nil
}

func (o Option) validateChoices() error {
	switch {
	case o.Type != Choice && len(o.Choices) > 0:
		return fmt.Errorf("it has choices: a %v has none", o.Type)
	case o.Type == Choice && len(o.Choices) == 0:
		return errors.New("it is a choice without choices")
	case len(o.Choices) > maxOptions:
		return fmt.Errorf("it has %d choices: must be at most %d", len(o.Choices), maxOptions)
	}
	for i, word := range o.Choices {
		if err := checkName(word); err != nil {
			return fmt.Errorf("its choice %w", err)
		}
		if o.choice(word) != i {
			return fmt.Errorf("its choice %s is there twice", word)
		}
	}
	return nil
}

// checkName returns an error unless the name has at most maxName letters, begins with a letter or
// digit, and otherwise consists of letters, digits and the characters "-_.+".
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("is missing")
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("%.*q… must have at most %d letters", maxName, name, maxName)
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (i == 0 || !strings.ContainsRune("-_.+", r)) {
			return fmt.Errorf("%q must be a word of letters and digits, or - _ . + behind the first", name)
		}
	}
	return nil
}

// checkText returns an error if a text is longer than maxText or has letters that cannot be
// printed, which might move a terminal's cursor.
func checkText(text string) error {
	if n := utf8.RuneCountInString(text); n > maxText {
		return fmt.Errorf("has %d letters: must have at most %d", n, maxText)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return fmt.Errorf("has %q in it: must be printable text in one line", r)
		}
	}
	return nil
}

// longestReason is the number of letters of a reason that are kept and shown.
const longestReason = 500

// AsReason returns why a job waits in the form in which that is kept for each of its like and told to
// users, see [Printable]: a reason may quote what the user has written, of any length.
func AsReason(text string) string { return Printable(text, longestReason) }

// Printable returns a text from outside in a form that is safe on a terminal and in a log: one line
// of printable letters, cut off with "…" after the given number. What would move a cursor is
// replaced. The time that it takes grows with the number, not with the text.
func Printable(text string, longest int) string {
	letters := 0
	for i, r := range text {
		if letters == longest || !unicode.IsPrint(r) || r == utf8.RuneError {
			return text[:i] + sanitized(text[i:], longest-letters)
		}
		letters++
	}
	return text
}

// PrintableLines is Printable for a text of several lines, which stay separate lines.
func PrintableLines(text string, longest int) string {
	var b strings.Builder
	for left := longest; ; b.WriteByte('\n') {
		line, rest, more := strings.Cut(text, "\n")
		line = Printable(line, left)
		b.WriteString(line)
		if left -= utf8.RuneCountInString(line) + 1; left < 0 || !more {
			if more && !strings.HasSuffix(line, "…") {
				b.WriteRune('…')
			}
			return b.String()
		}
		text = rest
	}
}

// sanitized is Printable for what has a letter to replace, or is too long.
func sanitized(text string, longest int) string {
	var b strings.Builder
	letters := 0
	for _, r := range text {
		if letters == longest {
			b.WriteRune('…')
			break
		}
		letters++
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(unicode.ReplacementChar)
		}
	}
	return b.String()
}
