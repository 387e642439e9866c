package security

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// Method is a way to authenticate.
type Method string

// The supported methods, by their names on the wire.
const (
	ClaimToBe Method = "CLAIMTOBE"
	FS        Method = "FS"
	Token     Method = "TOKEN" // IDTOKENS in configuration files
)

// bits are the methods' values in the bit mask that is sent.
var bits = map[Method]int64{ClaimToBe: 2, FS: 4, Token: 2048}

// ParseMethods reads a list such as "FS, IDTOKENS, KERBEROS"; unsupported methods are left out.
func ParseMethods(list string) (methods []Method) {
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		m := Method(strings.ToUpper(name))
		if m == "IDTOKENS" || m == "TOKENS" || m == "IDTOKEN" {
			m = Token
		}
		if bits[m] != 0 && !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return methods
}

// joined lists methods as they are sent.
func joined(methods []Method) string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = string(m)
	}
	return strings.Join(names, ",")
}

// mask returns the sum of the methods' bits.
func mask(methods []Method) (sum int64) {
	for _, m := range methods {
		sum |= bits[m]
	}
	return sum
}

// byBit returns the method that has this value in the bit mask; an error if there is none.
func byBit(bit int64) (Method, error) {
	for m, b := range bits {
		if b == bit {
			return m, nil
		}
	}
	return "", fmt.Errorf("the other side chose method %d, which was not offered", bit)
}

// claimToBe authenticates us by CLAIMTOBE: the other side accepts the user that we name, or not,
// which is an error.
func claimToBe(s *cedar.Stream, user string) error {
	s.PutInt(1)
	s.PutString(user)
	if err := s.Send(); err != nil {
		return err
	}
	verdict, err := s.Int()
	if err == nil {
		err = s.End()
	}
	if err == nil && verdict != 1 {
		err = fmt.Errorf("the other side does not believe that we are %q", user)
	}
	return err
}
