// Subscribes this browser for notices while no page is open, where it can.
(() => {
'use strict'
const worker = '/static/push-worker.js', scope = '/static/'
const bytes = text => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0))
const text = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
function name() {
  const ua = navigator.userAgent
  const browser = /Firefox/.test(ua) ? 'Firefox' : /Edg\//.test(ua) ? 'Edge' : /Chrome/.test(ua) ? 'Chrome' : /Safari/.test(ua) ? 'Safari' : 'A browser'
  const system = /Android/.test(ua) ? 'Android' : /iPhone|iPad/.test(ua) ? 'iOS' : /Windows/.test(ua) ? 'Windows' : /Mac/.test(ua) ? 'macOS' : /Linux/.test(ua) ? 'Linux' : ''
  return system ? browser + ' on ' + system : browser
}
const state = () => !isSecureContext ? 'insecure' : !('serviceWorker' in navigator) || !window.PushManager || !window.Notification ? 'unsupported' : Notification.permission === 'denied' ? 'denied' : 'able'
function show(what) {
  for (const el of document.querySelectorAll('[data-push]')) el.hidden = el.dataset.push !== what
}
async function subscription() {
  const found = await navigator.serviceWorker.getRegistration(scope)
  return found ? found.pushManager.getSubscription() : null
}
async function look() {
  if (!document.querySelector('[data-push]')) return
  const now = state()
  show(now === 'able' && await subscription() ? 'on' : now)
}
async function subscribe(form) {
  if (await Notification.requestPermission() !== 'granted') return look()
  try {
    const registration = await navigator.serviceWorker.register(worker, { scope })
    await new Promise(done => {
      const at = registration.active || registration.waiting || registration.installing
      if (at.state === 'activated') return done()
      at.addEventListener('statechange', () => at.state === 'activated' && done())
    })
    const key = bytes(form.elements.key.value)
    const old = await registration.pushManager.getSubscription()
    if (old && text(old.options.applicationServerKey) !== text(key)) await old.unsubscribe()
    const s = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
    form.elements.endpoint.value = s.endpoint
    form.elements.p256dh.value = text(s.getKey('p256dh'))
    form.elements.auth.value = text(s.getKey('auth'))
    form.elements.name.value = name()
    form.requestSubmit()
    show('on')
  } catch {
    show('unreachable')
  }
}
document.addEventListener('DOMContentLoaded', look)
document.addEventListener('click', async e => {
  const button = e.target.closest('[data-act=push-on],[data-act=push-off]')
  if (!button) return
  if (button.dataset.act === 'push-on') return subscribe(document.getElementById('push-form'))
  const s = await subscription()
  if (s) await s.unsubscribe()
  look()
})
})()
