package observe

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

func TestScratchUncharged(t *testing.T) {
	for _, attr := range []string{"RequestMemory", "RequestCpus", "EstimatedRunTime", "MaxHosts", "AccountingGroup", "AcctGroup", "ProjectName", "QOS", "User", "Owner", "JobUniverse", "ConcurrencyLimits", "QDate"} {
		o := quiet()
		b := time.Now()
		var spec *Spec
		for i := range 50 {
			ad, err := classad.ParseOld(job(fmt.Sprintf("JobPrioX = %d\n", i)))
			require.NoError(t, err)
			x := tooMuch
			if i%2 == 0 {
				x = `regexp("(a*)*(a|aa)*(a*)*b", "` + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + `")`
			}
			require.NoError(t, ad.SetExpr(attr, x))
			spec, _ = o.specOf(ad, "schedd")
		}
		t.Log(attr, time.Since(b)/50, spec.Wrong, o.referSteps)
	}
}
