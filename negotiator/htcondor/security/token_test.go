package security

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimitsOfATokenAreFew: sessions keep what a token is limited to, so that is no text of the
// token's, and nothing counts twice.
func TestLimitsOfATokenAreFew(t *testing.T) {
	for scope, want := range map[string][]Permission{
		"":                                       nil,
		"openid":                                 {"NONE"},
		"condor:/NEW":                            {"NONE"},
		strings.Repeat("condor:/READ ", 5000):    {Read},
		"condor:/WRITE condor:/NEW condor:/READ": {Write, Read},
	} {
		limits := token{Scope: scope}.limits()
		require.Equal(t, want, limits, scope)
		require.LessOrEqual(t, cap(limits), 8)
	}
}
