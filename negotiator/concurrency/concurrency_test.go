package concurrency

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimitsOfJobs(t *testing.T) {
	for text, want := range map[string][]Limit{
		"":                            nil,
		"sw_a:2,sw_b":                 {{"sw_a", 2}, {"sw_b", 1}},
		" SW_A:1.5 \t lic.Matlab ":    {{"sw_a", 1.5}, {"lic.matlab", 1}},
		"a:0,b:-3,c:x,d:,e:2x,f:1e1":  {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 2}, {"f", 10}},
		"a,A:2":                       {{"a", 3}},
		"3x, x-y, a.b.c, .b, a., :2":  nil,
		"a:nan,b:inf,c:1e999":         {{"a", 1}, {"b", 1e30}, {"c", 1e30}},
		"a:0x2,b:0X1.8z,c:0x2p1,d:0x": {{"a", 2}, {"b", 1.5}, {"c", 4}, {"d", 1}},
		"a:0x_1,b:1_0,c:-0x2,d:0x2p":  {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 2}},
	} {
		got, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}
