package host

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// described is the policy as a plugin describes it, with the options that it is
// to have held against that: whatever language the plugin is written in, its
// options are checked in the same way and with the same words.
func described(m *policyv1.DescribeResponse, options map[string]string) (backfill.Spec, error) {
	spec := wire.DecodeSpec(m)
	if err := spec.Validate(); err != nil {
		return backfill.Spec{}, fmt.Errorf("what it says of itself is wrong: %w", err)
	}
	return spec, spec.CheckOptions(options)
}
