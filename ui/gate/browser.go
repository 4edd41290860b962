package gate

import "strings"

// browsers and systems as a User-Agent names them, the more exact name first: most claim to be others, too.
var (
	browsers = [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"},
		{"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}}
	systems = [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
)

// browserOf is what a browser says of itself in a few words, such as "Firefox on Linux"; "" when it says nothing known.
func browserOf(userAgent string) string {
	name, system := named(browsers, userAgent), named(systems, userAgent)
	switch {
	case name == "":
		return ""
	case system == "":
		return name
	}
	return name + " on " + system
}

func named(known [][2]string, text string) string {
	for _, k := range known {
		if strings.Contains(text, k[0]) {
			return k[1]
		}
	}
	return ""
}
