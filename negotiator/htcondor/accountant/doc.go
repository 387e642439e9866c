// Package accountant is the accounting of an HTCondor pool as its users know it:
// user priorities, accounting groups with quotas, concurrency limits, what was
// used, and the commands of condor_userprio. It knows no network and no clock.
//
// # A tour
//
// [OpenFile] opens a database and [Open] the [Accountant] in it, with [Settings]
// that [ParseSettings] reads from the pool's configuration. A cycle then goes
//
//	a.Update(now, use)                 // what runs: priorities age, usage grows
//	a.Divide(total, waiting)           // groups' quotas, submitters' shares
//	a.Admit(limits, jobs, running, in) // what limits have room for: Verdicts
//	order.Open(admitted)               // fair share: order.Key is the queue's order
//	… the cycle starts jobs …
//	a.Update(now, use)                 // what they use counts from here
//	a.ActiveAds()                      // for the collector
//
// A submitter is named as in its submitter ad, alice@domain or
// group.alice@domain; the name says which group it is in. Weights are slot
// weights: cpus, unless the pool says otherwise. A priority is better the lower
// it is; the effective one is the real one times the factor.
//
// [Share] tells how groups and submitters share, and [Order] makes it a queue's
// order. [Limits] are the pool's concurrency limits, [ParseLimits] reads those of
// a job.
//
// # Commands
//
// What condor_userprio asks a negotiator, and which method answers. A payload is
// one message; int and double are CEDAR's. Commands without a reply are answered
// by closing the connection; then errors can only be logged.
//
//	cmd  name                  payload                  authorization  reply                       method
//	449  SET_PRIORITY          string name, double      ADMINISTRATOR  none                        SetPriority
//	451  GET_PRIORITY          none                     READ           ad without types            Report(false)
//	458  RESET_USAGE           string name              ADMINISTRATOR  none                        ResetUsage
//	459  SET_PRIORITYFACTOR    string name, double      WRITE (1)      ad (2)                      SetFactor
//	460  RESET_ALL_USAGE       none                     ADMINISTRATOR  none                        ResetAll
//	463  GET_RESLIST           string name              READ           ad without types (3)        —
//	482  DELETE_USER           string name              ADMINISTRATOR  none                        Delete
//	494  SET_ACCUMUSAGE        string name, double (4)  ADMINISTRATOR  none                        SetUsage
//	495  SET_BEGINTIME         string name, int (5)     ADMINISTRATOR  none                        SetBegin
//	496  SET_LASTTIME          string name, int (5)     ADMINISTRATOR  none                        SetLast
//	514  GET_PRIORITY_ROLLUP   none                     READ           ad without types            Report(true)
//	525  SET_CEILING           string name, int         ADMINISTRATOR  none                        SetCeiling
//	530  SET_FLOOR             string name, int         ADMINISTRATOR  none                        SetFloor
//	 77  UPDATE_ACCOUNTING_AD  ad, from us              NEGOTIATOR     none; to the collector      ActiveAds
//	 78  QUERY_ACCOUNTING_ADS  query ad                 READ           (int 1, ad)…, int 0         Ads
//
// (1) Whoever is no ADMINISTRATOR is authorized only if the user map
// PRIORITY_FACTOR_AUTHORIZATION gives a prefix of the name. (2) ErrorCode, 0 if it
// worked, and ErrorString, for clients since 8.9.9; older ones get no reply. (3)
// Name1, StartTime1, …: the submitter's slots and since when; only the pool
// adapter knows these. (4) Seconds of slot weight. (5) Unix times. 23.9 shows the
// reply to 78 as condor_userprio's table, and with -legacy -long that to 451.
// Newer versions have 532–534, leases of ceilings, floors and factors, which are
// not here.
//
// As in HTCondor, a set command makes a submitter known that was not, and Delete
// of an unknown one is no error. Unlike there, nonsense is: negative priorities
// and factors below 1, which HTCondor changes to the least that makes sense.
package accountant
