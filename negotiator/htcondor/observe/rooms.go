package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// ofSchedds are the attributes that schedds' ads are always asked for. The last two are those to
// which CURB_MATCHMAKING refers by default.
var ofSchedds = []string{
	"Name", "MyAddress", "ScheddIpAddr", "MyCurrentTime", "LastHeardFrom", "MaxJobsRunning", "TotalRunningJobs", "CondorVersion",
	identityAttribute,
	"CurbMatchmaking", "TransferQueueMaxUploading", "RecentDaemonCoreDutyCycle", "TransferQueueNumWaitingToUpload",
}

// RoomsOf returns the rooms that jobs of a schedd share: that of all, that of their user, and that
// of their project.
func (s *Schedd) RoomsOf(spec *Spec) accountant.Rooms {
	return accountant.Rooms{s.Room, s.Users[spec.user], s.Projects[spec.project]}
}

// Gates are what keeps a schedd from taking matches of a job for a moment: its curb, and what the job's
// user uploads.
type Gates [2]*accountant.Room

// GatesOf returns the gates of a schedd for jobs. A gate is asked when a match is to be handed over, and
// is no row of the plan: it is shut for seconds, and a row would be as low for as long as jobs run.
func (s *Schedd) GatesOf(spec *Spec) Gates { return Gates{s.Curb, s.Uploads[spec.user]} }

// shutFor is for how much longer than it was open a gate may be shut until it counts as a room while it is.
// The slots of jobs that wait before a gate are idle, so others get them then. An ad is up to five minutes
// old. A gate that opens for a moment now and then, as one transfer ends, keeps slots idle as well.
const shutFor = 10 * time.Minute

// shutting is for how much longer a gate was shut than open, up to shutFor, as of a look, and whether it was
// shut in that.
type shutting struct {
	at     time.Time
	longer time.Duration
	shut   bool
}

// lasts notes whether a gate is shut, of all or of a user, and tells whether it has been for too long.
func (s *schedd) lasts(user string, shut bool, now time.Time) bool {
	g, known := s.shut[user]
	since := max(0, now.Sub(g.at))
	switch {
	case !known && !shut:
		return false
	case !known:
	case g.shut:
		g.longer = min(shutFor, g.longer+since)
	default:
		g.longer -= since
	}
	if g.longer <= 0 && !shut {
		delete(s.shut, user)
		return false
	}
	if s.shut == nil {
		s.shut = map[string]shutting{}
	}
	g = shutting{now, max(0, g.longer), shut}
	s.shut[user] = g
	return shut && g.longer >= shutFor
}

// readRoom takes in what a schedd's ad says of the number of jobs that it runs at once
// (MAX_JOBS_RUNNING). A gang has one shadow, however many nodes. The ad counts a gang's nodes, so
// Full may be true too early, but never too late.
func (s *schedd) readRoom(ad *classad.ClassAd) {
	s.Room, s.Full = nil, false
	if jobs, ok := ad.Literal("MaxJobsRunning").Int(); ok && jobs >= 0 {
		runs, _ := ad.Literal("TotalRunningJobs").Int()
		s.Room, s.Full = &accountant.Room{Jobs: int(jobs)}, runs >= jobs
	}
	version, _ := ad.Literal("CondorVersion").Text()
	s.records, s.uploads = atLeast(version, 25, 4), 0
	if most, _ := ad.Literal("TransferQueueMaxUploading").Int(); atLeast(version, 25, 11) {
		s.uploads = int(min(most, 1<<30)) / uploadsShare
	}
}

// atLeast tells whether a version such as "$CondorVersion: 25.4.0 2025-10-31 …" is not before
// another.
func atLeast(version string, major, minor int) bool {
	var first, second int
	n, _ := fmt.Sscanf(version, "$CondorVersion: %d.%d.", &first, &second)
	return n == 2 && (first > major || first == major && second >= minor)
}

// A schedd since 25.11 wants no matches for a user who has more than a fifth of the places in the
// queue for input transfer (MAX_CONCURRENT_UPLOADS_PER_USER), waiting jobs included. Small files
// are transferred without the queue: a transfer counts if it waits, or has taken lingers seconds.
const (
	uploadsShare = 5
	lingers      = 10
)

// isTransferring tells whether a group's jobs are in the queue for input transfer.
func (g *Group) isTransferring(now backfill.Time) bool {
	return g.Runs() && g.transfers && (g.queued || now-g.Started >= lingers)
}

// record is what a schedd has written down of a user or a project.
type record struct {
	name    string
	project bool
	jobs    int // that it runs at once
}

// price returns how much memory a record takes, with the room that is made of it.
func (r record) price() int { return bytesPerRecord + price(len(r.name), 0) }

// ofRecords are the attributes that records are asked for, knownRecords is true of those that limit
// something.
var (
	ofRecords    = []string{"MyType", "User", "Name", "MaxJobsRunning"}
	knownRecords = "MaxJobsRunning isnt undefined"
)

// readRecords asks a schedd how many jobs it runs at once of single users and projects.
func readRecords(ctx context.Context, q question, in *intake) error {
	err := q.schedd.Users(ctx, knownRecords, ofRecords, func(lines cedar.Lines) error {
		ad, wrong := lines.Ad()
		if wrong != nil {
			return nil //nolint:nilerr // one strange record is no reason to ignore the others
		}
		kind, _ := ad.Literal("MyType").Text()
		r := record{project: kind == "Project"}
		if r.name, _ = ad.Literal("User").Text(); r.project {
			r.name, _ = ad.Literal("Name").Text()
		}
		jobs, ok := ad.Literal("MaxJobsRunning").Int()
		if !ok || r.name == "" {
			return nil
		}
		r.jobs = int(max(0, min(jobs, 1<<30)))
		return in.addRecord(r, len(lines))
	})
	return err
}

// limits are how many jobs a schedd runs at once of users and projects, as far as it has written
// down.
type limits struct {
	recorded        []record
	size            int // bytes of memory
	users, projects map[string]*accountant.Room
}

// limit takes in what a schedd has written down now.
func (s *schedd) limit(recorded []record) {
	if slices.Equal(s.limits.recorded, recorded) {
		return
	}
	l := limits{recorded: recorded, users: map[string]*accountant.Room{}, projects: map[string]*accountant.Room{}}
	for _, r := range recorded {
		rooms := l.users
		if r.project {
			rooms = l.projects
		}
		l.size += r.price()
		rooms[r.name] = &accountant.Room{
			Jobs: r.jobs,
			Why:  fmt.Sprintf("its schedd runs no more than %d jobs of %s at once (MaxJobsRunning)", r.jobs, r.name),
		}
	}
	s.limits = l
}

// gate takes in what users upload, and which limits of users there are with those who have uploaded too
// much for long.
func (s *schedd) gate(l *look) (users, gates map[string]*accountant.Room) {
	users, gates = s.limits.users, map[string]*accountant.Room{}
	runs, transfers := map[string]int{}, map[string]int{}
	for _, g := range s.Groups {
		if user := g.Spec.user; s.uploads > 0 && g.Runs() {
			runs[user] += len(g.Jobs)
			if g.isTransferring(l.Now) {
				transfers[user] += len(g.Jobs)
			}
		}
	}
	for user := range s.shut {
		s.lasts(user, user == "" && s.Curb != nil || transfers[user] >= s.uploads && transfers[user] > 0, l.Began)
	}
	own := false
	for user, n := range transfers {
		gate := &accountant.Room{
			Jobs: runs[user] + max(0, s.uploads-n),
			Why: fmt.Sprintf("%d jobs of %s transfer their input, and its schedd wants no matches for more than %d "+
				"(MAX_CONCURRENT_UPLOADS_PER_USER)", n, user, s.uploads),
		}
		gates[user] = gate
		known := users[user]
		if !s.lasts(user, n >= s.uploads, l.Began) || known != nil && known.Jobs <= gate.Jobs {
			continue
		}
		if !own { // what earlier looks returned does not change
			users, own = maps.Clone(s.limits.users), true
			if users == nil {
				users = map[string]*accountant.Room{}
			}
		}
		users[user] = gate
	}
	return users, gates
}
