package daemon

import (
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// JobPlanType is the MyType of ads with start times.
const JobPlanType = "JobPlan"

// Ad returns the forecast as an ad, for clients.
func (j JobForecast) Ad(now backfill.Time) *classad.ClassAd {
	ad := classad.New()
	ad.SetString("MyType", JobPlanType)
	ad.SetString("Name", j.Job)
	ad.SetInt("ServerTime", int64(now))
	for name, text := range map[string]string{
		"ScheddName": j.Schedd, "Owner": j.Owner, "Situation": j.Situation,
		"Slots": j.Slots, "Behind": j.Behind, "Reason": j.Reason, "Unpromised": j.Unpromised, "Asleep": j.Asleep,
		"EarliestStartReason": j.Early, "RunTimeReason": j.Stretched, "Limit": j.Limit, "Drained": j.Drained,
		"Preemption": j.Preemption, "Scavenger": j.Scavenger,
	} {
		if text != "" {
			ad.SetString(name, text)
		}
	}
	for name, t := range map[string]*int64{
		"ExpectedStart": j.Start, "ExpectedStartP10": j.P10, "ExpectedStartP50": j.P50, "ExpectedStartP90": j.P90,
		"ExpectedStartAsOf": j.AsOf,
		"Guarantee":         j.Guarantee, "ReservedStart": j.Reserved, "EarliestStart": j.NotBefore,
	} {
		if t != nil {
			ad.SetInt(name, *t)
		}
	}
	if j.Predicted != nil {
		ad.SetInt("RequestedRunTime", *j.Requested)
		ad.SetInt("PredictedRunTime", *j.Predicted)
	}
	return ad
}

// ReadJobForecast reads an ad that Ad made. The reason is worded anew, with times in the given time
// zone.
func ReadJobForecast(ad *classad.ClassAd, zone *time.Location) JobForecast {
	text := func(name string) string {
		v, _ := ad.Literal(name).Text()
		return v
	}
	number := func(name string) *int64 {
		if v, ok := ad.Literal(name).Int(); ok {
			return &v
		}
		return nil
	}
	j := JobForecast{
		Job: text("Name"), Schedd: text("ScheddName"), Owner: text("Owner"), Situation: text("Situation"),
		Slots: text("Slots"), Behind: text("Behind"), Reason: text("Reason"), Unpromised: text("Unpromised"), Asleep: text("Asleep"),
		P10: number("ExpectedStartP10"), P50: number("ExpectedStartP50"), P90: number("ExpectedStartP90"),
		AsOf:  number("ExpectedStartAsOf"),
		Start: number("ExpectedStart"), Guarantee: number("Guarantee"), Reserved: number("ReservedStart"),
		Requested: number("RequestedRunTime"), Predicted: number("PredictedRunTime"),
		NotBefore: number("EarliestStart"), Early: text("EarliestStartReason"),
		Stretched: text("RunTimeReason"), Limit: text("Limit"), Drained: text("Drained"), Preemption: text("Preemption"),
		Scavenger: text("Scavenger"),
	}
	now, _ := ad.Literal("ServerTime").Int()
	j.Reason = j.describe(backfill.Time(now), zone)
	return j
}
