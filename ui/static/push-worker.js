// Shows what the appliance pushes while no page of it is seen. It keeps nothing and fetches nothing.
'use strict'
const seen = async () => (await clients.matchAll({ type: 'window', includeUncontrolled: true })).some(c => c.visibilityState === 'visible')
onpush = e => e.waitUntil((async () => {
  const notice = e.data.json()
  // Whoever looks at a page sees it there; a test is meant to be seen.
  if (notice.kind !== 'test' && await seen()) return
  await registration.showNotification(notice.title, { body: notice.body, tag: notice.url, data: notice.url })
})())
onnotificationclick = e => {
  e.notification.close()
  e.waitUntil((async () => {
    const url = new URL(e.notification.data, location.origin)
    for (const c of await clients.matchAll({ type: 'window', includeUncontrolled: true })) {
      if (new URL(c.url).pathname === url.pathname) return c.focus()
    }
    return clients.openWindow(url)
  })())
}
oninstall = () => skipWaiting()
