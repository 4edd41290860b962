//go:build browser

package gallery

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAxe runs axe-core over all pages in both themes; what it calls moderate or worse fails. The page of all states shows one thing many times, so
// that there its landmarks are not unique. HOLDFAST_AXE is the path of axe.min.js of the npm package.
func TestAxe(t *testing.T) {
	source, err := os.ReadFile(os.Getenv("HOLDFAST_AXE"))
	if err != nil {
		t.Fatalf("HOLDFAST_AXE must name axe.min.js: %v", err)
	}
	ctx := browser(t)
	srv := site(t)
	const run = `axe.run(document,{resultTypes:['violations'],rules:{'landmark-unique':{enabled:!document.querySelector('.specimen')}}}).then(r=>r.violations.filter(v=>v.impact!=='minor').flatMap(v=>v.nodes.map(n=>v.id+': '+n.target.join(' ')+': '+n.failureSummary)))`
	for _, name := range pageNames {
		for _, dark := range []bool{false, true} {
			var found []string
			if err := chromedp.Run(ctx, open(srv.URL+"/gallery/"+name, 1440, 900, dark), chromedp.Evaluate(string(source)+";true", nil), chromedp.Evaluate(run, &found, awaits)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, f := range found {
				t.Errorf("%s dark=%v: %s", name, dark, f)
			}
		}
	}
}
