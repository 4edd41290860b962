// One of these runs per browser and holds the stream of notices for all its tabs; streams of pages close in tabs that nobody sees.
'use strict'
const tabs = new Map()
let source
function listen() {
  source = new EventSource('/notices/stream')
  source.onmessage = e => tell(JSON.parse(e.data))
  // A refused stream is not asked for again by itself: signed out, or the appliance is just starting.
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) setTimeout(listen, 10000) }
}
function tell(notice) {
  const seen = [...tabs.values()].includes(true)
  let first = true
  for (const [tab, visible] of tabs) {
    // Only one tab asks the system to show it, and none does while the person looks at one of them.
    tab.postMessage({ ...notice, show: !seen && first, toast: visible })
    first = false
  }
}
onconnect = e => {
  const tab = e.ports[0]
  tabs.set(tab, true)
  tab.onmessage = m => { if (m.data.gone) tabs.delete(tab); else tabs.set(tab, m.data.visible) }
  if (!source) listen()
}
