package gallery

import (
	"holdfast/ui/text"
	"holdfast/ui/view"
)

const fetchDiff = `--- a/feed/fetch.go
+++ b/feed/fetch.go
@@ -41,8 +41,16 @@ func (f *Fetcher) Fetch
 func (f *Fetcher) Fetch(ctx context.Context, s Station) (Reading, error) {
-	resp, err := f.client.Get(f.base + "/v1/stations/" + s.ID)
-	if err != nil {
-		return Reading{}, err
+	b := backoff{base: time.Second, cap: time.Minute}
+	for attempt := 1; ; attempt++ {
+		r, err := f.once(ctx, s)
+		if err == nil {
+			f.last.Store(s.ID, r)
+			return r, nil
+		}
+		if !temporary(err) || attempt == f.attempts {
+			return f.lastGood(s, err)
+		}
+		// the caller gave up while we waited; its cause says more than the station's
+		if err := b.wait(ctx, attempt); err != nil {
+			return Reading{}, context.Cause(ctx)
+		}
 	}
-	defer resp.Body.Close()
-	return decode(resp.Body)
 }
`

const testDiff = `--- /dev/null
+++ b/feed/fetch_test.go
@@ -0,0 +1,17 @@
+package feed
+
+import (
+	"testing"
+	"testing/synctest"
+)
+
+// A station that reboots at night answers again after three refusals.
+func TestFetchSurvivesReboot(t *testing.T) {
+	synctest.Test(t, func(t *testing.T) {
+		st := newStation(t, refuse(3), answer("2.41"))
+		got, err := st.fetcher().Fetch(t.Context(), st.id)
+		if err != nil || got.Level != 2.41 {
+			t.Fatalf("got %v, %v", got, err)
+		}
+	})
+}
`

const pageDiff = `--- a/internal/render/stationpage/testdata/golden/live_reading_component_when_station_is_away.html
+++ b/internal/render/stationpage/testdata/golden/live_reading_component_when_station_is_away.html
@@ -9,1 +9,3 @@
 <section class="reading">
+  <p class="stale">Last reading 02:14</p>
+  <p>The station does not answer.</p>
`

const fetchSource = "41\tfunc (f *Fetcher) Fetch(ctx context.Context, s Station) (Reading, error) {\n42\t\tresp, err := f.client.Get(f.base + \"/v1/stations/\" + s.ID)\n" +
	"43\t\tif err != nil {\n44\t\t\treturn Reading{}, err\n45\t\t}\n46\t\tdefer resp.Body.Close()\n47\t\treturn decode(resp.Body)\n48\t}"

const testOutput = "=== RUN   TestFetchSurvivesReboot\n\x1b[32m--- PASS: TestFetchSurvivesReboot (0.00s)\x1b[0m\n=== RUN   TestFetchKeepsLastGood\n" +
	"\x1b[32m--- PASS: TestFetchKeepsLastGood (0.00s)\x1b[0m\n=== RUN   TestFetchStopsWithContext\n\x1b[2mrun 14 of 20\x1b[0m\n"

const answer = "The fetcher now retries refusals, resets and 5xx answers, at most five times and never past the caller’s deadline. Between attempts it keeps what the station last said:\n\n" +
	"- **Fresh**: the reading as before.\n- **Stale**: the last good reading with the time it was taken, so that the page can say “from 02:14”\n\n" +
	"The wait is one function:\n\n```go\nfunc (b *backoff) wait(ctx context.Context, attempt int) error {\n\td := min(b.base<<(attempt-1), b.cap) // doubled, capped\n\tselect {\n\tcase <-time.After(d):\n\t\treturn nil\n\tcase <-ctx.Done():\n\t\treturn ctx.Err()\n\t}\n}\n```\n\n" +
	"| Answer | Retried | Why |\n|---|---|---|\n| refused, reset | yes | the station reboots |\n| 5xx | yes | its gateway is up before it |\n| 404 | no | the station was removed |\n\n" +
	"Try it with `go test ./feed/... -count=20`, or read [how backoff works](https://example.org/backoff)."

func bodies() map[string]view.Body {
	return map[string]view.Body{
		"source":  {Source: text.Source("fetch.go", fetchSource)},
		"diff":    {Diffs: text.Diff("", fetchDiff)},
		"diffs":   {Diffs: append(text.Diff("", fetchDiff), text.Diff("", testDiff)...)},
		"new":     {Diffs: text.Diff("", testDiff)},
		"output":  {Terminal: text.Terminal(testOutput), Facts: "214 lines"},
		"none":    {Note: "No output."},
		"refused": {Note: "changed since you read it; read it again"},
		"lint":    {Terminal: text.Terminal("\x1b[31mfeed/fetch.go:52:9: ineffectual assignment to err (ineffassign)\x1b[0m\nmake: *** [Makefile:31: lint] Error 2")},
		"search": {Terminal: text.Terminal("cmd/tided/main.go:88:       r, err := fetcher.Fetch(ctx, st)\ncmd/tided/main.go:131:      go poll(ctx, fetcher.Fetch, stations)\n" +
			"feed/fetch.go:41:           func (f *Fetcher) Fetch(ctx context.Context, s Station)\ninternal/render/stationpage/live_reading_component.go:57: reading, err := p.feed.Fetch(r.Context(), st)")},
		"image": {Files: []view.Attached{{ID: "g1", Name: "snap.png", URL: "/gallery/picture.png", Size: "12 KB", Picture: true}}, Terminal: text.Terminal("the harbour\n[image: snap.png, 128 x 96]")},
		"list":  {Terminal: text.Terminal("backoff.go\nfetch.go\nfetch_test.go")},
	}
}

func nav(here string) view.Nav {
	return view.Nav{Server: view.ServerNote{State: "ok", Text: "Model server ready", Out: "nothing sent today"}, List: view.ChatList{Groups: []view.ChatGroup{
		{Name: "Pinned", Rows: []view.ChatRow{{ID: "p1", Title: "Release checklist for 0.9", Summary: "Waits for the tide tables of 2027", When: "Tue"}}},
		{Name: "Today", Rows: []view.ChatRow{
			{ID: "1", Title: "Retry the tide feed with backoff", Summary: "Running the feed tests, 20 times", When: "now", State: view.ChatRunning, Adds: 52, Dels: 5, Here: here == "1"},
			{ID: "2", Title: "Update the docs", Summary: "Asks to run a command", When: "now", State: view.ChatWaiting},
			{ID: "3", Title: "Why is the station list slow?", Summary: "Sorting ran once per row; fixed", When: "11:20", State: view.ChatDone, Adds: 12, Dels: 40, Unread: true},
			{ID: "4", Title: "Import the 2019 gauge archive", Summary: "The model does not fit into memory", When: "10:02", State: view.ChatFailed, Here: here == "4"},
			{ID: "5", Title: "Explain the harmonic constants", Summary: "Answered; no files changed", When: "09:41", State: view.ChatResting},
		}},
		{Name: "Yesterday", Rows: []view.ChatRow{
			{ID: "6", Title: "Split the renderer from the server and give each its own tests", Summary: "Two packages, 14 tests, all pass", When: "16:55", State: view.ChatDone, Adds: 418, Dels: 377},
			{ID: "7", Title: "Read station names in Latin-1", Summary: "Decoder added, one test", When: "15:10", State: view.ChatDone, Adds: 31, Dels: 4},
			{ID: "8", Title: "Ideas for the moon phase page", Summary: "Three sketches, none chosen", When: "09:18", State: view.ChatResting},
		}},
		{Name: "This week", Rows: []view.ChatRow{
			{ID: "9", Title: "Drop the unused cgo build tag", Summary: "Removed from 9 files", When: "Mon", State: view.ChatDone, Dels: 27},
			{ID: "10", Title: "Nightly backup to the second disk", Summary: "Timer and script written", When: "Mon", State: view.ChatDone, Adds: 64},
			{ID: "11", Title: "How large can the cache grow?", Summary: "About 40 MB per station and year", When: "Mon", State: view.ChatResting},
		}},
	}}}
}

func modelOptions() []view.Option {
	return []view.Option{{Value: "a", Label: "qwen3-coder:30b", Selected: true}, {Value: "b", Label: "gpt-oss:20b"}}
}

func spaceOptions() []view.Option {
	return []view.Option{{Value: "w1", Label: "tidewatch", Selected: true}, {Value: "w2", Label: "almanac"}}
}

func meter() view.Meter {
	return view.Meter{Used: 18_400, Limit: 32_768, CompactAt: 70, Parts: []view.MeterPart{
		{Name: "System and tools", Tokens: 4_600, Tone: "p4"}, {Name: "Files", Tokens: 2_900, Tone: "p3"},
		{Name: "Tool results", Tokens: 2_300, Tone: "p2"}, {Name: "Messages", Tokens: 8_600, Tone: "p1"}}}
}
