package slurm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errHosts = errors.New("is no list of nodes such as n[001-004,007]")

// maxNodes bounds the nodes of a list, as a short text can name any number.
const maxNodes = 1 << 18

// hosts returns the names that a list such as n[001-004,007],login1 stands for. A name may have several
// brackets.
func hosts(list string) (names []string, err error) {
	depth, begin := 0, 0
	for i := 0; i <= len(list); i++ {
		switch {
		case i < len(list) && list[i] == '[':
			depth++
		case i < len(list) && list[i] == ']':
			depth--
		case i == len(list) || list[i] == ',' && depth == 0:
			part := list[begin:i]
			if begin = i + 1; part == "" {
				return nil, errHosts
			}
			if names, err = expand(names, "", part); err != nil {
				return nil, err
			}
		}
	}
	if depth != 0 {
		return nil, errHosts
	}
	return names, nil
}

// expand adds the names that a part stands for, behind what is in front of it.
func expand(names []string, front, part string) ([]string, error) {
	before, rest, found := strings.Cut(part, "[")
	if !found {
		if len(names) == maxNodes {
			return nil, fmt.Errorf("names more than %d nodes", maxNodes)
		}
		if strings.ContainsAny(part, "]() \t") {
			return nil, errHosts
		}
		return append(names, front+part), nil
	}
	ranges, behind, found := strings.Cut(rest, "]")
	if !found {
		return nil, errHosts
	}
	for span := range strings.SplitSeq(ranges, ",") {
		first, last, ranged := strings.Cut(span, "-")
		if !ranged {
			last = first
		}
		from, err := number(first)
		if err != nil {
			return nil, errHosts
		}
		until, err := number(last)
		if err != nil || until < from || until-from >= maxNodes {
			return nil, errHosts
		}
		for n := from; n <= until; n++ {
			digits := strconv.FormatInt(n, 10)
			digits = strings.Repeat("0", max(0, len(first)-len(digits))) + digits
			if names, err = expand(names, front+before+digits, behind); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}
