package backfill

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Values are the options of a policy, or of whatever else has some, complete and
// checked. To read one that it does not declare, or not as what it is declared to be,
// is a mistake in it and panics.
type Values struct {
	whose   string
	options []Option
	given   map[string]string
}

// ReadOptions checks what is given against the options that there are; the others
// have their defaults. Errors are an [*OptionsError] and say whose options they are.
func ReadOptions(whose string, options []Option, given map[string]string) (Values, error) {
	known := make([]string, len(options))
	for i, o := range options {
		known[i] = o.Name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(known, name)
		if i < 0 {
			return Values{}, &OptionsError{Err: fmt.Errorf("%s has no option %q%s: %s", whose, name,
				DidYouMean(name, known), describeKnown(known))}
		}
		if err := options[i].check(given[name]); err != nil {
			return Values{}, &OptionsError{Err: fmt.Errorf("%s: option %s=%q %w", whose, name, given[name], err)}
		}
	}
	return Values{whose: whose, options: options, given: maps.Clone(given)}, nil
}

func describeKnown(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}

// Text is a text as it was written.
func (v Values) Text(name string) string {
	_, value := v.read(name, Text)
	return value
}

// Int is a whole number.
func (v Values) Int(name string) int {
	_, value := v.read(name, WholeNumber)
	n, _ := strconv.Atoi(value)
	return n
}

// Number is a number.
func (v Values) Number(name string) float64 {
	_, value := v.read(name, Number)
	x, _ := parseNumber(value)
	return x
}

// Time is a length of time.
func (v Values) Time(name string) Time {
	_, value := v.read(name, LengthOfTime)
	t, _ := ParseTime(value)
	return t
}

// Flag is a flag.
func (v Values) Flag(name string) bool {
	_, value := v.read(name, Flag)
	return value == "true"
}

// Choice is the choice that was made, spelt as the option's Choices are.
func (v Values) Choice(name string) string {
	o, value := v.read(name, Choice)
	return o.Choices[o.choice(value)]
}

// List is the words of a list, or the names of resources.
func (v Values) List(name string) []string {
	_, value := v.read(name, List, Resources)
	return words(value)
}

// read finds an option that is of one of the types, and its value, which suits
// it.
func (v Values) read(name string, types ...OptionType) (Option, string) {
	i := slices.IndexFunc(v.options, func(o Option) bool { return o.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("%s reads option %q, which it does not declare", v.whose, name))
	}
	if !slices.Contains(types, v.options[i].Type) {
		panic(fmt.Sprintf("%s reads its option %q as %s and declares it as %s", v.whose, name, types[0],
			v.options[i].Type))
	}
	o := v.options[i]
	value, given := v.given[name]
	if !given {
		value = o.Default
	}
	if err := o.check(value); err != nil { // a default: what is given was checked
		panic(fmt.Sprintf("%s: option %s=%q %v", v.whose, name, value, err))
	}
	return o, value
}
