; TypeScript.
; include ecmascript
