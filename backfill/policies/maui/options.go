package maui

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// The values of the options are Maui's words; case does not matter.
var (
	fills        = []string{"FIRSTFIT", "BESTFIT", "GREEDY", "NONE"}
	reservations = []string{"CURRENTHIGHEST", "HIGHEST", "NEVER"}
)

// limited lists the options that set throttling limits, each with the label that its limits are
// for.
var limited = []struct{ option, label, example string }{
	{"usercfg", "owner", "fred"},
	{"groupcfg", "group", "physics"},
	{"accountcfg", "account", "apollo"},
	{"qoscfg", "qos", "batch"},
}

// options returns the policy's options, which are Maui's parameters of the same names.
func options() []backfill.Option {
	all := []backfill.Option{
		{
			Name: "backfillpolicy", Default: "FIRSTFIT", Type: backfill.Choice, Choices: fills,
			Doc: "which jobs start in a backfill window: FIRSTFIT the first in the queue, BESTFIT the largest, " +
				"GREEDY the best combination, NONE nobody",
		},
		{
			Name: "backfillmetric", Default: "PROCS", Type: backfill.Choice, Choices: metricNames,
			Doc: "what is large to BESTFIT and GREEDY",
		},
		{
			Name: "backfilldepth", Default: "0", Type: backfill.WholeNumber, Range: backfill.AtLeast(0),
			Doc: "how many jobs are looked at for backfill; 0: all",
		},
		{
			Name: "backfillmaxschedules", Default: "1000", Type: backfill.WholeNumber, Range: backfill.AtLeast(1),
			Doc: "how often GREEDY tries to add a job to a combination, in each window; then it takes the best found",
		},
		{
			Name: "bfchunksize", Default: "0", Type: backfill.WholeNumber, Range: backfill.AtLeast(0),
			Doc: "with FIRSTFIT: once a job of so many cpus was blocked, what was freed of late is kept from " +
				"smaller ones; 0: never",
		},
		{
			Name: "bfchunkduration", Default: "0", Type: backfill.LengthOfTime,
			Range: backfill.AtMost(backfill.MaxKeepFreed),
			Doc:   "for how long that is kept; 0: not at all",
		},
		{
			Name: "reservationpolicy", Default: "CURRENTHIGHEST", Type: backfill.Choice, Choices: reservations,
			Doc: "who has a reservation: CURRENTHIGHEST the first blocked jobs, HIGHEST also whoever once had one, " +
				"NEVER nobody",
		},
		{
			Name: "reservationdepth", Default: "1", Check: check(parseDepths),
			Doc: `how many blocked jobs get a reservation; of each list of QOS's: "[0] 8 [1] 2"`,
		},
		{
			Name: "reservationqoslist", Default: "ALL", Check: check(parseLists),
			Doc: `the QOS's whose jobs get reservations; several lists, each with its own depth: "[0] high debug [1] batch"`,
		},
	}
	for _, kind := range limited {
		all = append(all, backfill.Option{
			Name: kind.option, Check: check(parseBounds),
			Doc: fmt.Sprintf(`limits of each %s on what its running jobs use, soft,hard: `+
				`"[%s] MAXJOB=2,4 MAXPS=7200 [DEFAULT] MAXPROC=16,32"`, kind.label, kind.example),
		})
	}
	return all
}

// newPolicy returns the policy with the given values of its options, which have been checked.
func newPolicy(v backfill.Values) *policy {
	p := &policy{depth: v.Int("backfilldepth")}
	m := metrics[v.Choice("backfillmetric")]
	switch v.Choice("backfillpolicy") {
	case "FIRSTFIT":
		p.fill = firstFit
		if size, duration := v.Int("bfchunksize"), v.Time("bfchunkduration"); size > 0 && duration > 0 {
			p.chunking = chunking{size: int64(size), duration: duration}
		}
	case "BESTFIT":
		p.fill = bestFit(m)
	case "GREEDY":
		p.fill = greedy(m, v.Int("backfillmaxschedules"))
	}
	switch v.Choice("reservationpolicy") {
	case "HIGHEST":
		p.keep = true
		fallthrough
	case "CURRENTHIGHEST":
		depths, _ := parseDepths(v.Text("reservationdepth"))
		lists, _ := parseLists(v.Text("reservationqoslist"))
		p.stacks = stacks(depths, lists)
	}
	for _, kind := range limited {
		if who, _ := parseBounds(v.Text(kind.option)); len(who) > 0 {
			p.limits = append(p.limits, limitsBy{label: kind.label, who: who})
		}
	}
	return p
}

// stacks combines RESERVATIONDEPTH and RESERVATIONQOSLIST: an entry [n] of depths, a number of
// reservations, and an entry [n] of lists, the QOS's that may use these, are a [stack]. Without an
// entry in depths a stack has one reservation; without an entry in lists it is for all jobs. The
// stacks are sorted by n.
func stacks(depths map[int]int, lists map[int][]string) (all []stack) {
	numbers := maps.Clone(depths)
	for n := range lists {
		if _, ok := depths[n]; !ok {
			numbers[n] = 1
		}
	}
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		all = append(all, stack{depth: numbers[n], qos: lists[n]})
	}
	return all
}

// check returns a check for an option: it errs if the parser parse does.
func check[A any](parse func(string) (A, error)) func(string) error {
	return func(value string) error {
		_, err := parse(value)
		return err
	}
}

// section is a part of an option's value: a name in brackets and the words that follow it. Words
// before the first bracket are a section with the name "".
type section struct {
	name  string
	words []string
}

// sections splits a text like "[a] x y [b] z" into sections. The words are divided by any of the
// characters in separators. It errs if a bracket is empty or not closed.
func sections(text, separators string) (all []section, err error) {
	split := func(words string) []string {
		return strings.FieldsFunc(words, func(r rune) bool { return strings.ContainsRune(separators, r) })
	}
	unnamed, named, _ := strings.Cut(text, "[")
	if words := split(unnamed); len(words) > 0 {
		all = append(all, section{words: words})
	}
	if len(unnamed) == len(text) {
		return all, nil
	}
	for part := range strings.SplitSeq(named, "[") {
		name, words, closed := strings.Cut(part, "]")
		if name = strings.TrimSpace(name); !closed || name == "" {
			return nil, errors.New(`has a "[" without a name and "]" behind it`)
		}
		all = append(all, section{name, split(words)})
	}
	return all, nil
}

// numbered parses a text of sections whose names are numbers, as in "x [1] y". It applies the
// callback read to the words of each section and returns the results by number. The section without
// a name has number 0. It errs if a number is wrong or occurs twice, or if read errs.
func numbered[A any](text string, read func([]string) (A, error)) (map[int]A, error) {
	parts, err := sections(text, " \t,")
	if err != nil {
		return nil, err
	}
	all := make(map[int]A, len(parts))
	for _, s := range parts {
		n, err := strconv.Atoi(cmp.Or(s.name, "0"))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("has [%s], which is no number of a list: must be like [0]", s.name)
		}
		if _, twice := all[n]; twice {
			return nil, fmt.Errorf("has [%d] twice", n)
		}
		if all[n], err = read(s.words); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// parseDepths parses RESERVATIONDEPTH: the number of reservations for each list of QOS's, by the
// list's number.
func parseDepths(text string) (map[int]int, error) {
	depths, err := numbered(text, func(words []string) (int, error) {
		depth, err := strconv.Atoi(strings.Join(words, " "))
		if err != nil || depth < 0 {
			return 0, errors.New(`must be a whole number of at least 0, or one for each list, like "[0] 8 [1] 2"`)
		}
		return depth, nil
	})
	if err == nil && len(depths) == 0 {
		return nil, errors.New("must be a whole number of at least 0")
	}
	return depths, err
}

// parseLists parses RESERVATIONQOSLIST: lists of QOS's by number. A list that is nil means all
// jobs.
func parseLists(text string) (map[int][]string, error) {
	lists, err := numbered(text, func(words []string) ([]string, error) {
		switch {
		case len(words) == 0:
			return nil, errors.New("has a list without a QOS: must name some, or ALL")
		case slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, "ALL") }):
			return nil, nil
		}
		return words, nil
	})
	if err == nil && len(lists) == 0 {
		return nil, errors.New("must be ALL or names of QOS's")
	}
	return lists, err
}

// parseBounds parses the value of USERCFG, GROUPCFG, ACCOUNTCFG or QOSCFG: the limits of each user,
// group, account or QOS by name, with those of everyone else under DEFAULT.
func parseBounds(text string) (map[string]bounds, error) {
	parts, err := sections(text, " \t")
	if err != nil {
		return nil, err
	}
	who := make(map[string]bounds, len(parts))
	for _, s := range parts {
		if s.name == "" {
			return nil, fmt.Errorf(`has %s before it says whose that is: must be like `+
				`"[fred] MAXJOB=2,4 [DEFAULT] MAXPROC=16,32"`, s.words[0])
		}
		own := who[s.name]
		for _, word := range s.words {
			if err := own.read(word); err != nil {
				return nil, fmt.Errorf("has for [%s] %s: %w", s.name, word, err)
			}
		}
		if own == (bounds{}) {
			return nil, fmt.Errorf("has no limit for [%s]: must be like MAXJOB=2,4", s.name)
		}
		who[s.name] = own
	}
	return who, nil
}

// read parses one limit, NAME=[SOFT,]HARD, and sets it. If there is no soft limit, or it is above
// the hard one, it is the hard one. It errs if the word is no limit, or one that is set already.
func (b *bounds) read(word string) error {
	name, value, _ := strings.Cut(word, "=")
	k := slices.Index(limitNames[:], strings.ToUpper(name))
	if k < 0 {
		return fmt.Errorf("must be one of %s", strings.Join(limitNames[:], ", "))
	}
	if b[k].set {
		return fmt.Errorf("%s is given twice", limitNames[k])
	}
	softer, harder, both := strings.Cut(value, ",")
	if !both {
		harder = softer
	}
	low, err := strconv.ParseInt(softer, 10, 64)
	high, err2 := strconv.ParseInt(harder, 10, 64)
	if err != nil || err2 != nil || low < 1 || high < 1 {
		return fmt.Errorf("must be like %s=4, or %s=2,4 for a soft and a hard limit, in whole numbers of at least 1",
			limitNames[k], limitNames[k])
	}
	b[k] = bound{set: true, soft: min(low, high), hard: high}
	return nil
}
