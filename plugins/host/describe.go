package host

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// described returns the policy as the plugin describes it, after checking the given options against
// the description. So options are checked in the same way and with the same messages whatever
// language the plugin is written in.
func described(m *policyv1.DescribeResponse, options map[string]string) (backfill.PolicySpec, error) {
	spec := wire.DecodeSpec(m)
	if err := spec.Validate(); err != nil {
		return backfill.PolicySpec{}, fmt.Errorf("what it says of itself is wrong: %w", err)
	}
	return spec, spec.CheckOptions(options)
}
