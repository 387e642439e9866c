package metrics_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

func TestList(t *testing.T) {
	m := metrics.Metrics{MeanWait: 1, Users: 3}
	list := m.List()
	values := maps.Collect(m.All())
	require.Len(t, list, len(values))
	units := []metrics.Unit{
		metrics.Seconds, metrics.WholeSeconds, metrics.CPUSeconds, metrics.Share, metrics.Ratio,
		metrics.Count,
	}
	for _, measure := range list {
		require.Regexp(t, `^[a-z][a-z0-9_]*$`, measure.Name)
		require.InDelta(t, values[measure.Name], measure.Value, 0)
		require.Contains(t, units, measure.Unit, measure.Name)
	}
}

func TestMeasuresAreOneObjectInTheirOrder(t *testing.T) {
	text, err := json.Marshal(metrics.Measures{{Name: "b", Value: 7}, {Name: "a", Value: 0.1}})
	require.NoError(t, err)
	require.Equal(t, `{"b":7,"a":0.1}`, string(text))
	text, err = json.Marshal(metrics.Measures{})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(text))
}
