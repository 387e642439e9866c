package classadtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// slotsOfMachine is the number of slots of a machine of a synthetic pool; the first is the
// undivided rest.
const slotsOfMachine = 4

// counters are numeric attributes that no expression refers to; real ads are full of them.
var counters = strings.Fields(`ActivationCount ClaimCount ConsoleIdle DrainingCompletion DutyCycle ImageSize JobStarts
	LastBenchmark LastContact Mips MonitorAge MonitorMemory PreemptionCount RecentActivations RecentClaims ` +
	`RecentJobStarts
	RecentPreemptions RetirementTime SequenceNumber TimeBusy TimeIdle TimeToLive TotalDisk TotalMemory UpdatesLost
	UpdatesTotal VirtualMemory`)

// features are attributes that describe a machine's abilities.
var features = strings.Fields(`HasAvx HasAvx2 HasContainer HasDeferral HasEncryption HasFileTransfer HasIoProxy HasMpi
	HasReconnect HasSse4 HasTransferPlugins HasVm IsLocal IsWakeable`)

// Synthetic generates a pool: slots that share as many attributes as those of one real pool do,
// jobs that match some of the slots, and expressions. The same seed gives the same pool. Unlike
// pools that were read from HTCondor, it comes without HTCondor's answers.
func Synthetic(seed uint64, machines int) *Pool {
	r := rand.New(rand.NewPCG(seed, 0))
	p := &Pool{}
	for machine := range machines {
		for slot := range slotsOfMachine {
			ad := slotAd(r, machine, slot)
			p.Lines = append(p.Lines, ad.Format(classad.Lines))
			p.Brackets = append(p.Brackets, ad.String())
		}
	}
	for i := range 10 {
		p.Jobs = append(p.Jobs, jobAd(r, i))
	}
	p.Texts = []string{
		`Cpus`,
		`MY.Memory * 2 + 1`,
		`Cpus >= TARGET.RequestCpus && Memory >= TARGET.RequestMemory`,
		`Arch == "X86_64" && NoSuchAttribute is undefined`,
		`ifThenElse(isUndefined(NoSuchAttribute), Speed, NoSuchAttribute)`,
		`Speed / 1000.0 + 10 * (Memory > 4096) - 2.5 * (TARGET.Priority < 0)`,
		`Requirements`,
		`regexp("^host0", Machine)`,
		`member(TARGET.Owner, { "ann", "bob", "cy" })`,
		`strcat(Name, "#", string(TARGET.ClusterId))`,
	}
	var err error
	if p.Exprs, err = p.ParseExprs(); err != nil {
		panic(err) // they are constants
	}
	return p
}

func slotAd(r *rand.Rand, machine, slot int) *classad.ClassAd {
	ad := classad.New()
	host := fmt.Sprintf("host%04d.example", machine)
	ad.SetString("Machine", host)
	ad.SetString("Name", fmt.Sprintf("slot%d@%s", slot+1, host))
	ad.SetString("Arch", []string{"X86_64", "X86_64", "X86_64", "AARCH64"}[machine%4])
	ad.SetString("OpSys", "LINUX")
	ad.SetString("Domain", []string{"one", "two"}[machine%2])
	ad.SetString("State", []string{"Unclaimed", "Claimed"}[r.IntN(2)])
	ad.SetInt("Cpus", 1<<r.IntN(6))
	ad.SetInt("Memory", 1024<<r.IntN(7))
	ad.SetInt("Disk", r.Int64N(1<<30))
	ad.SetInt("GPUs", max(0, r.Int64N(8)-5))
	ad.SetInt("Speed", 500_000+r.Int64N(1_000_000))
	ad.SetReal("LoadAvg", float64(r.IntN(1000))/100)
	ad.SetBool("Partitionable", slot == 0)
	for _, name := range counters {
		ad.SetInt(name, r.Int64N(1<<20))
		ad.SetInt("Total"+name, 0)
	}
	for _, name := range features {
		ad.SetBool(name, machine%7 != 0)
	}
	ad.SetString("Plugins", "box,data,file,ftp,http,https,s3")
	mustSet(ad, "Start", `TARGET.Owner isnt "mallory" && (TARGET.Starts < 5 || TARGET.Starts is undefined)`)
	mustSet(ad, "WithinLimits", `(TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory && `+
		`TARGET.RequestDisk <= MY.Disk && (TARGET.RequestGPUs is undefined || MY.GPUs >= TARGET.RequestGPUs))`)
	mustSet(ad, "Requirements", `Start && (WithinLimits)`)
	mustSet(ad, "Rank", `TARGET.Priority > 5`)
	return ad
}

func jobAd(r *rand.Rand, i int) *classad.ClassAd {
	ad := classad.New()
	ad.SetString("Owner", []string{"ann", "bob", "cy", "dee", "mallory"}[i%5])
	ad.SetInt("ClusterId", int64(i))
	ad.SetInt("Priority", int64(i))
	ad.SetInt("Starts", r.Int64N(6))
	ad.SetInt("ImageSize", r.Int64N(1<<22))
	ad.SetInt("DiskUsage", r.Int64N(1<<20))
	ad.SetString("Domain", "one")
	ad.SetInt("RequestCpus", 1<<r.IntN(4))
	mustSet(ad, "RequestMemory", `ifThenElse(MemoryUsage isnt undefined, MemoryUsage, (ImageSize + 1023) / 1024)`)
	mustSet(ad, "RequestDisk", `DiskUsage`)
	mustSet(ad, "Requirements", `(TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && `+
		`(TARGET.Disk >= RequestDisk) && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) && `+
		`((TARGET.Domain == MY.Domain) || (TARGET.HasFileTransfer))`)
	mustSet(ad, "Rank", `TARGET.Speed / 1000.0 + TARGET.Memory`)
	return ad
}

// mustSet is for expressions that are constants of the program.
func mustSet(ad *classad.ClassAd, name, text string) { ad.Set(name, classad.MustParseExpr(text)) }
