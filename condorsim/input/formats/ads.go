package formats

import (
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// Ads is job ads of HTCondor. A text is recognised by an attribute, by a bracket of any form, or by
// what HTCondor prints above and between ads.
var Ads = &Format{
	Holds:      "job ads",
	OfAds:      true,
	Recognises: begins(`^(\*\*\*|-- |#|//|[\[{<]|[A-Za-z_][\w.]*\s*=)`),
	Read:       readAds,
	Description: `Job ads of HTCondor
  What condor_history and condor_q print with -long, -json, -jsonl or -xml, and history files.
  ClusterId, ProcId, QDate and RemoteWallClockTime are needed; --estimate-attr says where the requested
  time is: an attribute or expression, in seconds or with a unit, such as MaxWallTimeMins:min.
`,
}

func readAds(text *packed.Reader, name string, o Options) (*Jobs, error) {
	o.Ads.Clean = o.Clean
	h, err := history.Read(text, name, o.Ads)
	if err != nil {
		return nil, err
	}
	return ofHistory(h, o)
}

// ofHistory makes a trace of a history, and keeps its ads beside it.
func ofHistory(h *history.History, o Options) (*Jobs, error) {
	trace, err := h.Trace(o.Options)
	if err != nil {
		return nil, err
	}
	trace.Warnings = h.Warnings()
	return &Jobs{Trace: trace, History: h}, nil
}
