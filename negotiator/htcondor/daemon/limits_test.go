package daemon

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// TestLimitsAreShown: what is used and wanted of concurrency limits stands in the ad and in the metrics,
// and limits without a height do not.
func TestLimitsAreShown(t *testing.T) {
	w := newWorld()
	o := w.options("conservative")
	s, err := OpenState(t.Context(), t.TempDir(), hclog.NewNullLogger())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	o.Accountant, err = s.Accountant(accountant.DefaultSettings())
	require.NoError(t, err)
	d := once(t, w, o, w.begin())

	lookup := func(name string) (string, bool) {
		if strings.EqualFold(name, "matlab_limit") {
			return "3", true
		}
		return "", false
	}
	b := o.Accountant.Bounds(accountant.NewLimits(lookup))
	for name, amount := range map[string]float64{"matlab": 2, "invented": 1} {
		wants := b.Of(accountant.Candidate{Limits: []accountant.Limit{{Name: name, Wanted: amount}}})
		wants[0].Used, wants[0].Waited, wants[0].Waiting = amount, 3*amount, 3
	}
	b.Close()
	d.change(func(*status) {}) // as a cycle does
	text, _ := d.Ad().Text("BackfillLimits")
	require.Equal(t, "matlab: 2 of 3 in use, 6 wanted by 3 waiting", text)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics{d})
	families, err := registry.Gather()
	require.NoError(t, err)
	shown := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == "matlab" {
				shown[family.GetName()] = m.GetGauge().GetValue()
			}
			require.False(t, len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == "invented")
		}
	}
	require.Equal(t, map[string]float64{
		"backfill_limit_height": 3, "backfill_limit_used": 2, "backfill_limit_wanted": 6, "backfill_limit_waiting": 3,
	}, shown)
}
