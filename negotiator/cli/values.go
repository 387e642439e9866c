package cli

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/cli/grammar"
)

// Values are the names that a shell offers for --policy and --order: of these policies and more,
// and of all orders.
func Values(specs []backfill.PolicySpec, more ...string) grammar.Values {
	names, orders := slices.Clone(more), []string(nil)
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	for _, order := range backfill.Orders() {
		orders = append(orders, order.Name)
	}
	return grammar.Values{"policy": names, "order": orders}
}
