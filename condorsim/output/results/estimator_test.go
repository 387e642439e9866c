package results

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEstimator(t *testing.T) {
	for want, s := range map[string]*Estimates{
		"requested":              nil,
		"accurate":               {All: "accurate"},
		"mix:0.5":                {All: "mix:0.5"},
		"selective":              {All: "selective"},
		"combined percentile=90": {All: "combined", Options: map[string]string{"percentile": "90"}},
		"S100":                   {Order: "accurate"},
		"S010":                   {Backfill: "accurate"},
		"S001":                   {Running: "accurate"},
		"S110":                   {All: "accurate", Running: "requested"},
		"user":                   {Order: "user", Backfill: "user", Running: "user"},
		"order=user backfill=requested running=accurate": {Order: "user", Running: "accurate"},
	} {
		require.Equal(t, want, Key{Estimates: s}.Estimator())
	}
}
