package classad_test

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

func ExampleParse() {
	ad, err := classad.Parse(`[ Cpus = 4; Memory = Cpus * 1024; Name = "slot1" ]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	memory, _ := ad.Int("memory")
	fmt.Println(memory)
	fmt.Println(ad)
	// Output:
	// 4096
	// [ Cpus = 4; Name = "slot1"; Memory = Cpus * 1024 ]
}

func ExampleParseExpr() {
	_, err := classad.ParseExpr(`Memory >= (1024`)
	fmt.Println(err)
	// Output:
	// 1:16: unexpected end, expected ")"
	// Memory >= (1024
	//                ^
}

func ExampleReadAds() {
	const slots = `
Name = "slot1"
Cpus = 4

Name = "slot2"
Cpus = 8
`
	for ad, err := range classad.ReadAds(strings.NewReader(slots), "slots") {
		if err != nil {
			fmt.Println(err)
			continue
		}
		name, _ := ad.Text("Name")
		fmt.Println(name, ad.Eval("Cpus", nil))
	}
	// Output:
	// slot1 4
	// slot2 8
}

func ExampleMatch() {
	job := classad.New()
	job.SetInt("RequestMemory", 2048)
	if err := job.SetExpr("Requirements", `TARGET.Memory >= RequestMemory && TARGET.Arch == "x86_64"`); err != nil {
		fmt.Println(err)
		return
	}
	slot := classad.New()
	slot.SetInt("Memory", 4096)
	slot.SetString("Arch", "X86_64")
	slot.SetBool("Requirements", true)
	fmt.Println(classad.Match(job, slot))
	// Output: true
}

func ExampleRank() {
	job := classad.New()
	if err := job.SetExpr("Rank", `TARGET.KFlops / 1000.0`); err != nil {
		fmt.Println(err)
		return
	}
	slot := classad.New()
	slot.SetInt("KFlops", 2500)
	fmt.Println(classad.Rank(job, slot))
	// Output: 2.5
}

func ExampleExpr_Eval() {
	e := classad.MustParseExpr(`x ?: "nothing"`)
	my := classad.New()
	fmt.Println(e.Eval(classad.Scope{My: my}))
	my.SetReal("x", 0.5)
	fmt.Println(e.Eval(classad.Scope{My: my}))
	// Output:
	// "nothing"
	// 5.000000000000000E-01
}

func ExampleExpr_Refs() {
	job := classad.New()
	job.SetInt("ImageSize", 10)
	e := classad.MustParseExpr(`TARGET.Memory > ImageSize && Arch == "X86_64"`)
	internal, external, err := e.Refs(job)
	fmt.Println(internal, external, err)
	// Output: [ImageSize] [Arch Memory] <nil>
}

func ExampleExpr_Clauses() {
	requirements := classad.MustParseExpr(`TARGET.Memory >= 1024 && (TARGET.HasGPU && (Arch == "X86_64" || Arch == "ARM"))`)
	for _, clause := range requirements.Clauses() {
		fmt.Println(clause)
	}
	// Output:
	// TARGET.Memory >= 1024
	// TARGET.HasGPU
	// Arch == "X86_64" || Arch == "ARM"
}
