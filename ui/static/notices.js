// What finished, failed or waits while the person looks elsewhere: a count in the title, a toast in a tab that is seen, else the browser's
// own notification where it was allowed.
(() => {
'use strict'
const worker = document.currentScript.dataset.worker
let count = 0
function badge(n) {
  count = n
  document.title = (n ? '(' + n + ') ' : '') + document.title.replace(/^\(\d+\) /, '')
}
function toast(notice) {
  const box = document.getElementById('toasts')
  if (!box || location.pathname === notice.url) return
  const el = document.createElement('div')
  el.className = 'toast'
  el.dataset.toast = ''
  const link = document.createElement('a')
  link.href = notice.url
  link.textContent = notice.title
  el.append(link, ' ' + notice.body)
  box.append(el)
}
function show(notice) {
  const n = new Notification(notice.title, { body: notice.body, tag: notice.url })
  n.onclick = () => { focus(); location.assign(notice.url); n.close() }
}
document.addEventListener('DOMContentLoaded', () => {
  // A page without chats is of somebody who is not signed in.
  if (!window.SharedWorker || !document.querySelector('.app')) return
  const port = new SharedWorker(worker, { name: 'holdfast-notices' }).port
  const look = () => {
    port.postMessage({ visible: !document.hidden })
    if (!document.hidden) badge(0)
  }
  port.onmessage = e => {
    if (document.hidden) badge(count + 1)
    else if (e.data.toast) toast(e.data)
    if (e.data.show && window.Notification?.permission === 'granted') show(e.data)
  }
  document.addEventListener('visibilitychange', look)
  addEventListener('pagehide', () => port.postMessage({ gone: true }))
  addEventListener('pageshow', look)
  look()
})
// The wish is asked for where it is pressed; a browser that was asked before says so.
document.addEventListener('click', async e => {
  if (!e.target.closest('[data-act=notify]')) return
  const say = text => toast({ url: '#', title: 'Notifications', body: text })
  if (!window.Notification || !isSecureContext) return say('This browser shows none for this address; open Holdfast over https or on this machine.')
  const answer = await Notification.requestPermission()
  say(answer === 'granted' ? 'This browser tells you when a chat finishes, fails or waits, while you look elsewhere.'
    : 'They are blocked for this address; allow them in the browser\u2019s site settings.')
})
})()
