package classad_test

import (
	"encoding/json"
	"errors"
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

func ExamplePair() {
	job, _ := classad.Parse(`[ Owner = "ann"; RequestCpus = 2; Requirements = TARGET.Cpus >= RequestCpus; ` +
		`Rank = TARGET.Cpus ]`)
	slot, _ := classad.Parse(`[ Cpus = 8; Requirements = TARGET.Owner isnt "ann"; Rank = -TARGET.RequestCpus ]`)
	pair := classad.Pair{Left: job, Right: slot}
	fmt.Println(pair.Match(), pair.RightMatchesLeft(), pair.LeftMatchesRight())
	fmt.Println(pair.LeftRank(), pair.RightRank())
	// Output:
	// false true false
	// 8 -2
}

func ExampleScope() {
	job, _ := classad.Parse(`[ RequestCpus = 2 ]`)
	slot, _ := classad.Parse(`[ Cpus = 8; Memory = 4096 ]`)
	e := classad.MustParseExpr(`Cpus / RequestCpus`)
	fmt.Println(e.Eval(classad.Scope{My: job}))
	fmt.Println(e.Eval(classad.Scope{My: job, Target: slot}))
	fmt.Println(e.Eval(classad.Scope{My: job, Target: slot, Strict: true})) // Cpus is in the other ad only
	fmt.Println(e.Eval(classad.Scope{My: job, Target: slot, MaxSteps: 2}))  // an operator and two names take 3
	// Output:
	// undefined
	// 4
	// undefined
	// error
}

func ExampleClassAd_Eval() {
	slot, _ := classad.Parse(`[ Cpus = 8; Free = Cpus - TARGET.RequestCpus ]`)
	job, _ := classad.Parse(`[ RequestCpus = 2 ]`)
	fmt.Println(slot.Eval("Free", job), slot.Eval("Free", nil), slot.Eval("RequestCpus", job))
	// Output: 6 undefined undefined
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
	requirements := classad.MustParseExpr(`TARGET.Memory >= 1024 && (TARGET.HasGPU && (Arch == "X86_64" ` +
		`|| Arch == "ARM"))`)
	for _, clause := range requirements.Clauses() {
		fmt.Println(clause)
	}
	// Output:
	// TARGET.Memory >= 1024
	// TARGET.HasGPU
	// Arch == "X86_64" || Arch == "ARM"
}

func ExampleExpr_Flatten() {
	slot, err := classad.Parse(`[ Memory = 4096; Start = TARGET.Owner isnt "mallory"; Requirements = Start && ` +
		`WithinLimits;
		WithinLimits = MY.Memory > 0 && TARGET.RequestMemory <= MY.Memory / 2 ]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	requirements, _ := slot.Lookup("Requirements")
	fmt.Println(requirements.Flatten(slot))
	// Output: TARGET.Owner isnt "mallory" && TARGET.RequestMemory <= 2048
}

func ExampleExpr_Explain() {
	my := classad.New()
	my.SetInt("RequestMemory", 4096)
	target := classad.New()
	target.SetInt("Memory", 2048)
	e := classad.MustParseExpr(`TARGET.Memory >= RequestMemory && TARGET.HasDocker`)
	why := e.Explain(classad.Scope{My: my, Target: target})
	fmt.Println(why.Holds)
	fmt.Print(why)
	// Output:
	// false
	//   false      all of
	// ✗ false        TARGET.Memory >= RequestMemory  TARGET.Memory = 2048, RequestMemory = 4096
	// ✗ undefined    TARGET.HasDocker                TARGET.HasDocker is undefined: the other ad has no such attribute
}

func ExampleClassAd_Explain() {
	slot, err := classad.Parse(`[ Cpus = 4; Requirements = Start && WithinLimits; Start = TARGET.Owner isnt "mallory";
		WithinLimits = TARGET.RequestCpus <= MY.Cpus ]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	job := classad.New()
	job.SetString("Owner", "ann")
	job.SetInt("RequestCpus", 8)
	fmt.Print(slot.Explain("Requirements", job))
	// Output:
	//   false  Requirements: all of
	//   true     Start = TARGET.Owner =!= "mallory"            TARGET.Owner = "ann"
	// ✗ false    WithinLimits = TARGET.RequestCpus <= MY.Cpus  TARGET.RequestCpus = 8, MY.Cpus = 4
}

func ExampleExplanation_All() {
	my := classad.New()
	my.SetInt("Cpus", 4)
	for _, part := range classad.MustParseExpr(`Cpus > 2 && (Cpus > 8 ` +
		`|| Memory > 100)`).Explain(classad.Scope{My: my}).All() {
		if part.Culprit {
			fmt.Println(part.Expr, "is", part.Value)
		}
	}
	// Output:
	// Cpus > 8 is false
	// Memory > 100 is undefined
}

func ExampleExplanation_Refusals() {
	slot, err := classad.Parse(`[ ToRetire = 1770000000; Start = Cpus > 0 && CurrentTime < ToRetire; Cpus = 4;
		Requirements = Start ]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	host := &classad.Host{Now: func() int64 { return 1_780_000_000 }}
	why := classad.Scope{My: slot, Target: classad.New(), Host: host}.Explain("Requirements")
	for _, refusal := range why.Refusals() {
		fmt.Println(refusal)
	}
	// Output: Start: CurrentTime < ToRetire is false (1780000000 < 1770000000)
}

func ExampleParseOld() {
	ad, err := classad.ParseOld("Cpus = 4\nRequirements = TARGET.Owner =!= \"mallory\"\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ad)
	// Output: [ Cpus = 4; Requirements = TARGET.Owner isnt "mallory" ]
}

func ExampleParseJSON() {
	ad, err := classad.ParseJSON(`{"Cpus": 4, "Start": "\/Expr(TARGET.RequestCpus <= Cpus)\/", "Tags": ["fast", null]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ad)
	// Output: [ Cpus = 4; Tags = { "fast",undefined }; Start = TARGET.RequestCpus <= Cpus ]
}

func ExampleParseXML() {
	ad, err := classad.ParseXML(`<c><a n="Cpus"><i>4</i></a><a n="Start"><e>TARGET.RequestCpus &lt;= Cpus</e></a></c>`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ad)
	// Output: [ Cpus = 4; Start = TARGET.RequestCpus <= Cpus ]
}

func ExampleParseLineExpr() {
	e, err := classad.ParseLineExpr(`Cmd == "C:\bin\true"`) // a backslash in lines is itself
	fmt.Println(e, err)
	// Output: Cmd == "C:\\bin\\true" <nil>
}

func ExampleMustParseExpr() {
	e := classad.MustParseExpr(`quantize(1000, 512)`)
	fmt.Println(e.Eval(classad.Scope{}))
	// Output: 1024
}

func ExampleParser() {
	var p classad.Parser // keeps once what the ads have in common
	for _, text := range []string{`[ Name = "slot1"; Arch = "X86_64" ]`, `[ Name = "slot2"; Arch = "X86_64" ]`} {
		ad, err := p.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(ad.Eval("Name", nil))
	}
	// Output:
	// "slot1"
	// "slot2"
}

func ExampleSyntaxError() {
	_, err := classad.Parse("[ a = 1;\n  b = (2 ]")
	if syntax, ok := errors.AsType[*classad.SyntaxError](err); ok {
		fmt.Println(syntax.Line, syntax.Column, syntax.Message)
	}
	// Output: 2 10 unexpected "]", expected ")"
}

func ExampleAccepts() {
	slot := classad.New()
	slot.Set("Requirements", classad.MustParseExpr(`TARGET.Owner isnt "mallory"`))
	job := classad.New() // has no Requirements, so there is no match
	fmt.Println(classad.Accepts(slot, job), classad.Match(job, slot))
	// Output: true false
}

func ExampleNew() {
	ad := classad.New()
	ad.SetString("Name", "slot1")
	ad.SetInt("Cpus", 4)
	ad.SetReal("LoadAvg", 0.5)
	ad.SetBool("Busy", false)
	if err := ad.SetExpr("Free", "Busy ? 0 : Cpus"); err != nil {
		fmt.Println(err)
		return
	}
	free, _ := ad.Int("free")
	fmt.Println(ad.Len(), free)
	fmt.Print(ad.Format(classad.Lines))
	// Output:
	// 5 4
	// Busy = false
	// Cpus = 4
	// Free = Busy ? 0 : Cpus
	// LoadAvg = 0.5
	// Name = "slot1"
}

func ExampleClassAd_Format() {
	ad, _ := classad.Parse(`[ Load = 0.5; Start = Load < 1 && Owner isnt "mallory" ]`)
	fmt.Println(ad.Format(classad.Brackets))
	fmt.Print(ad.Format(classad.Lines))
	fmt.Println(ad.Format(classad.JSON))
	fmt.Print(ad.Format(classad.XMLIndented))
	// Output:
	// [ Load = 5.000000000000000E-01; Start = Load < 1 && Owner isnt "mallory" ]
	// Load = 0.5
	// Start = Load < 1 && Owner =!= "mallory"
	// {"Load": 0.5,"Start": "\/Expr(Load < 1 && Owner isnt \"mallory\")\/"}
	// <c>
	//     <a n="Load"><r>5.000000000000000E-01</r></a>
	//     <a n="Start"><e>Load &lt; 1 &amp;&amp; Owner isnt "mallory"</e></a>
	// </c>
}

func ExampleExpr_Format() {
	e := classad.MustParseExpr(`Load is 0.5`)
	fmt.Println(e.Format(classad.Brackets))
	fmt.Println(e.Format(classad.Lines))
	// Output:
	// Load is 5.000000000000000E-01
	// Load =?= 0.5
}

func ExampleClassAd_MarshalJSON() {
	slot, _ := classad.Parse(`[ Cpus = 4; Free = Cpus - 1 ]`)
	b, err := json.Marshal(map[string]any{"slot": slot})
	fmt.Println(string(b), err)
	// Output: {"slot":{"Cpus":4,"Free":"\/Expr(Cpus - 1)\/"}} <nil>
}

func ExampleClassAd_UnmarshalJSON() {
	var message struct{ Slot *classad.ClassAd }
	err := json.Unmarshal([]byte(`{"slot": {"Cpus": 4, "Free": "\/Expr(Cpus - 1)\/"}}`), &message)
	fmt.Println(message.Slot, err)
	// Output: [ Cpus = 4; Free = Cpus - 1 ] <nil>
}

func ExampleClassAd_All() {
	ad, _ := classad.Parse(`[ b = 1; a = b + 1 ]`)
	ad.Delete("B")
	copied := ad.Clone()
	copied.SetInt("c", 3)
	for name, e := range copied.All() {
		fmt.Println(name, "=", e)
	}
	// Output:
	// a = b + 1
	// c = 3
}

func ExampleClassAd_Lookup() {
	ad, _ := classad.Parse(`[ Memory = 4 * 1024 ]`)
	e, ok := ad.Lookup("memory")
	fmt.Println(e, ok)
	_, ok = ad.Lookup("disk")
	fmt.Println(ok)
	// Output:
	// 4 * 1024 true
	// false
}

func ExampleHost() {
	host := &classad.Host{Now: func() int64 { return 1_700_000_000 }}
	e := classad.MustParseExpr(`time() - 100`)
	fmt.Println(e.Eval(classad.Scope{Host: host}), e.Eval(classad.Scope{}))
	// Output: 1699999900 undefined
}

func ExampleValue() {
	for _, text := range []string{`1 + 1`, `"a" == "A"`, `missing`, `1 / 0`} {
		v := classad.MustParseExpr(text).Eval(classad.Scope{})
		fmt.Println(v.Kind(), v, v.IsTrue())
	}
	// Output:
	// integer 2 true
	// boolean true true
	// undefined undefined false
	// error error false
}

func ExampleValue_Items() {
	items, _ := classad.MustParseExpr(`{ 1 + 1, "x", [ a = 3 ] }`).Eval(classad.Scope{}).Items()
	n, _ := items[0].Number()
	s, _ := items[1].Text()
	ad, _ := items[2].Ad()
	fmt.Println(n, s, ad.Eval("a", nil))
	// Output: 2 x 3
}

func ExampleBuiltins() {
	for _, b := range classad.Builtins() {
		if b.Name == "size" {
			fmt.Println(b.Doc, b.Example)
		}
	}
	// Output:
	// Counts the bytes of a string, the elements of a list or the attributes of an ad. size({ 1, 2 }) == 2
}
