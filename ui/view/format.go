package view

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"
)

// Tokens writes a number of tokens as people say it: 96, 4.6k, 32k, 1.2M.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 10_000:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1000, 'f', 1, 64), ".0") + "k"
	case n < 1_000_000:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1000, 'f', 1, 64), ".0") + "k"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64), ".0") + "M"
}

// Window writes the size of a window, which is a power of two more often than not: 32768 is 32k, 262144 is 262k as its makers say.
func Window(n int64) string {
	if n >= 1024 && n%1024 == 0 && n <= 65536 {
		return strconv.FormatInt(n/1024, 10) + "k"
	}
	if n >= 10_000 {
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return Tokens(n)
}

// Bytes writes a size in decimal units: 640 KB, 18.6 GB.
func Bytes(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	f, u := float64(n), 0
	for f >= 999.5 && u < len(units)-1 {
		f /= 1000
		u++
	}
	if u == 0 || f >= 99.5 || u < 3 && f >= 10 {
		return strconv.FormatFloat(f, 'f', 0, 64) + " " + units[u]
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[u]
}

// Took writes a duration: 0.1 s, 12 s, 2 m 04 s, 18 min, 3 h 05 m.
func Took(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < 50*time.Millisecond:
		return "0.0 s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < 10*time.Minute:
		return strconv.Itoa(int(d.Minutes())) + " m " + two(int(d.Seconds())%60) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return strconv.Itoa(int(d.Hours())) + " h " + two(int(d.Minutes())%60) + " m"
}

// Count writes a number with its noun: 1 file, 3 files.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch") {
		return strconv.Itoa(n) + " " + noun + "es"
	}
	if rest, ok := strings.CutSuffix(noun, "y"); ok {
		return strconv.Itoa(n) + " " + rest + "ies"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// NewKey makes an idempotency key for a form.
func NewKey() string { return rand.Text() }

func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// splitPath gives the directory with its slash, and the base.
func splitPath(p string) (dir, base string) {
	trimmed := strings.TrimRight(p, "/")
	i := strings.LastIndexByte(trimmed, '/')
	return p[:i+1], p[i+1:]
}

// percent is part of whole in 0..100, for the width of a bar.
func percent(part, whole int64) int {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return int(min(100, part*100/whole))
}

func id(prefix string, n int64) string { return prefix + strconv.FormatInt(n, 10) }

func blockID(prefix string, step int64, part, n int) string {
	return prefix + strconv.FormatInt(step, 10) + "-" + strconv.Itoa(part) + "-" + strconv.Itoa(n)
}

func partID(prefix string, step int64, part int) string {
	return prefix + strconv.FormatInt(step, 10) + "-" + strconv.Itoa(part)
}

// js quotes a string for an expression. Only what needs no escape in a URL comes here, the rest becomes \u escapes.
func js(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		if r < 0x20 || r > 0x7e || strings.ContainsRune(`'"\<>&`+"`", r) {
			if r > 0xffff {
				r = 0xfffd
			}
			hex := strconv.FormatInt(int64(r), 16)
			b.WriteString(`\u` + strings.Repeat("0", 4-len(hex)) + hex)
			continue
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
	return b.String()
}

// post is the expression of a button: one intent, no fields.
func post(url string) string {
	return "@post(" + js(url) + ",{payload:{},requestCancellation:'disabled'})"
}

// postForm is the expression of a form: its fields.
func postForm(url string) string {
	return "@post(" + js(url) + ",{contentType:'form',requestCancellation:'disabled'})"
}

// streamExpr opens the page's one stream, with the ids of the last two elements of #log, so that the stream begins with what is missing there; and closes it while the page is hidden: the browser allows six connections to a host.
func streamExpr(url string) string {
	sep := "?"
	if strings.Contains(url, "?") {
		sep = "&"
	}
	return "const c=document.getElementById('log')?.lastElementChild;el._s?.abort();if(!document.hidden)@get(" + js(url+sep) +
		"+'listed='+(document.getElementById('chats')?.dataset.listed||'')+(c?'&at='+c.id+'.'+(c.previousElementSibling?.id||''):''),{openWhenHidden:true,requestCancellation:el._s=new AbortController(),retry:'always'," +
		"retryMaxCount:Infinity,retryInterval:200,retryScaler:1.5,retryMaxWait:2000,payload:{}})"
}

// moreExpr lets the list of chats hold n from now on: the stream opens anew and fills it.
func moreExpr(n int) string {
	return "document.getElementById('chats').dataset.listed=" + strconv.Itoa(n) + ";document.getElementById('stream').dispatchEvent(new CustomEvent('relist'))"
}

// awayExpr shows the pill while the stream is away: there is no event for a connection, so the first patch takes it off.
const awayExpr = "if(evt.detail.el===el){const t=evt.detail.type;if(t==='retrying')$_away=true;else if(t.startsWith('datastar-patch'))$_away=false}"

// MiB is a limit in whole MiB.
func MiB(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }
