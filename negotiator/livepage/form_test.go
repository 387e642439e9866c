package livepage_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// TestFormNamesWhatThereIs: the form of what-ifs proposes all policies, orders and estimators.
func TestFormNamesWhatThereIs(t *testing.T) {
	out := httptest.NewRecorder()
	livepage.New(source{}, "e1").ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/assets/whatif.js", nil))
	require.Equal(t, http.StatusOK, out.Code)
	var named, orders []string
	for _, s := range policies.All() {
		named = append(named, s.Name)
	}
	for _, o := range backfill.Orders() {
		orders = append(orders, o.Name)
	}
	orders = append(orders, negotiator.FairShare)
	slices.Sort(orders)
	for name, all := range map[string][]string{"policies": named, "orders": orders, "estimators": whatif.Estimators()} {
		require.Contains(t, out.Body.String(), "const "+name+" = "+array(all)+";")
	}
}

// array is names as an array of JavaScript.
func array(names []string) string {
	return `["` + strings.Join(names, `", "`) + `"]`
}
