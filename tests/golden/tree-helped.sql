BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.76000000008588361735e+09,'run_started','','{"worker":{"kind":"function","options":{"function":"golden_work:work"}},"sol":"model","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","assignment":{"goal":"build the hut of wood","context":"none","inputs":{"wood":"oak"},"constraints":[],"expected_output":{"description":"the hut"},"success_criteria":[{"text":"it stands"}],"stop_conditions":["a brick has no colour"]},"inputs":{},"result_file":null,"files":{"strategy":"{WORKSPACE}/golden.yaml"},"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}},"file_strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627778,1.76000000008588361735e+09,'created','','{"assignment":{"goal":"build the hut of wood","context":"none","inputs":{"wood":"oak"},"constraints":[],"expected_output":{"description":"the hut"},"success_criteria":[{"text":"it stands"}],"stop_conditions":["a brick has no colour"]}}');
INSERT INTO "events" VALUES(1099511627779,1.76000000008588361735e+09,'started','','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.7600000001325290203e+09,'progressed','','{"kind":"attempt","n":1,"usage":{"tokens":120,"cost":0.001},"event":{"type":"spent","usage":{"calls":0,"tokens":120,"cost":0.001,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627781,1.7600000001325290203e+09,'reported','','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.011934,"report":{"blocker":"build the hut of wood is more than one thing","known":["there is wood"],"unknown":["how much of it"],"status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627782,1.7600000001325290203e+09,'stopped','','{"n":1}');
INSERT INTO "events" VALUES(1099511627783,1.7600000001325290203e+09,'analysed','','{"kind":"other","blocker":"build the hut of wood is more than one thing","unknown":["how much of it"]}');
INSERT INTO "events" VALUES(1099511627784,1.7600000001325290203e+09,'decided','','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627785,1.7600000001325290203e+09,'started','','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627786,1.76000000014413332939e+09,'answer','','{"kind":"split","n":1,"answer":{"children":[{"goal":"paint the door of the hut","claim":"simpler","success_criteria":[{"text":"done: paint the door of the hut"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"nail the sign to the hut","claim":"simpler","success_criteria":[{"text":"done: nail the sign to the hut"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":0.000111}');
INSERT INTO "events" VALUES(1099511627787,1.76000000014413332939e+09,'split','','{"children":["0","1"],"goals":["paint the door of the hut","nail the sign to the hut"],"how":"model","dimension":"data_logic","sequential":false,"reason":"two things","because":"other"}');
INSERT INTO "events" VALUES(1099511627788,1.76000000014413332939e+09,'created','0','{"assignment":{"goal":"paint the door of the hut","success_criteria":[{"text":"done: paint the door of the hut"}],"expected_output":{"description":"The result of: paint the door of the hut"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627789,1.76000000014413332939e+09,'created','1','{"assignment":{"goal":"nail the sign to the hut","success_criteria":[{"text":"done: nail the sign to the hut"}],"expected_output":{"description":"The result of: nail the sign to the hut"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627790,1.76000000014413332939e+09,'started','0','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627791,1.76000000014413332939e+09,'started','1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627792,1.76000000016648602482e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to paint the door of the hut."}}');
INSERT INTO "events" VALUES(1099511627793,1.76000000016648602482e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"paint the door of the hut"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627794,1.76000000016648602482e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"paint the door of the hut","again":false}}}');
INSERT INTO "events" VALUES(1099511627795,1.76000000016648602482e+09,'progressed','0','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627796,1.76000000016648602482e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to nail the sign to the hut."}}');
INSERT INTO "events" VALUES(1099511627797,1.76000000016648602482e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"nail the sign to the hut"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627798,1.76000000016648602482e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"nail the sign to the hut","again":false}}}');
INSERT INTO "events" VALUES(1099511627799,1.76000000016648602482e+09,'progressed','1','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627800,1.76000000016648602482e+09,'reported','0','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.003366,"report":{"kind":"needs_human","blocker":"nobody said which colour","question":"Which colour?","status":"STUCK"}}');
INSERT INTO "events" VALUES(1099511627801,1.76000000016648602482e+09,'stopped','0','{"n":1}');
INSERT INTO "events" VALUES(1099511627802,1.76000000016648602482e+09,'analysed','0','{"kind":"needs_human","blocker":"nobody said which colour"}');
INSERT INTO "events" VALUES(1099511627803,1.76000000016648602482e+09,'asked','0','{"question":"Which colour?","kind":"needs_human"}');
INSERT INTO "events" VALUES(1099511627804,1.76000000016648602482e+09,'reported','1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.003329,"report":{"kind":"exit","reason":"the nails are too long","status":"FAILED"}}');
INSERT INTO "events" VALUES(1099511627805,1.76000000016648602482e+09,'stopped','1','{"n":1}');
INSERT INTO "events" VALUES(1099511627806,1.76000000016648602482e+09,'analysed','1','{"kind":"exit","blocker":"the nails are too long"}');
INSERT INTO "events" VALUES(1099511627807,1.76000000016648602482e+09,'decided','1','{"section":"report","rule":3,"kind":"label","condition":"FAILED","next":"split"}');
INSERT INTO "events" VALUES(1099511627808,1.76000000016648602482e+09,'started','1','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627809,1.76000000017124295231e+09,'answer','1','{"kind":"split","n":1,"answer":{"cannot":"one piece"},"usage":{"calls":1},"seconds":8.6e-05}');
INSERT INTO "events" VALUES(1099511627810,1.76000000017124295231e+09,'started','1','{"kind":"reassess","n":1,"because":{"trigger":"unsplittable"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627811,1.76000000017486357686e+09,'answer','1','{"kind":"reassess","n":1,"answer":{"finding":"information_missing","remedy":"redefine","reason":"nobody said which","goal":"","information":"Use the short nails.","question":""},"usage":{"calls":1},"seconds":6.1e-05}');
INSERT INTO "events" VALUES(1099511627812,1.76000000017486357686e+09,'decided','1','{"section":"depth_limit","rule":0,"kind":"label","condition":"remedy:redefine","next":"redefine"}');
INSERT INTO "events" VALUES(1099511627813,1.76000000017486357686e+09,'redefined','1','{"goal":"","information":"Use the short nails."}');
INSERT INTO "events" VALUES(1099511627814,1.76000000017486357686e+09,'started','1','{"kind":"attempt","n":2,"because":{"new":"information","what":"reassessment"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627815,1.76000000018048572544e+09,'progressed','1','{"kind":"attempt","n":2,"event":{"type":"said","text":"I am going to nail the sign to the hut."}}');
INSERT INTO "events" VALUES(1099511627816,1.76000000018048572544e+09,'progressed','1','{"kind":"attempt","n":2,"event":{"type":"action","name":"saw","arguments":{"what":"nail the sign to the hut"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627817,1.76000000018048572544e+09,'progressed','1','{"kind":"attempt","n":2,"event":{"type":"partial","key":"half","value":{"of":"nail the sign to the hut","again":false}}}');
INSERT INTO "events" VALUES(1099511627818,1.76000000018048572544e+09,'progressed','1','{"kind":"attempt","n":2,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627819,1.76000000018048572544e+09,'reported','1','{"kind":"attempt","n":2,"usage":{"calls":1},"seconds":0.00192,"report":{"summary":"done","result":{"did":"nail the sign to the hut","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627820,1.76000000018048572544e+09,'decided','1','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627821,1.76000000018048572544e+09,'checked','1','{"kind":"check","n":0,"results":[{"criterion":"done: nail the sign to the hut","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627822,1.76000000018048572544e+09,'started','1','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627823,1.76000000018419504171e+09,'answer','1','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":5.9e-05}');
INSERT INTO "events" VALUES(1099511627824,1.76000000018419504171e+09,'decided','1','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627825,1.76000000018419504171e+09,'settled','1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627826,1.76000000018419504171e+09,'run_status','','{"status":"waiting"}');
INSERT INTO "events" VALUES(1099511627827,1.76000000001216936112e+09,'answered','0','{"text":"green","by":"a person","at":1760000000.0121694}');
INSERT INTO "events" VALUES(1099511627828,1.76000000001216936112e+09,'queued','0','{"kind":"attempt","n":2,"because":{"new":"information","what":"answer"}}');
INSERT INTO "events" VALUES(1099511627829,1.76000000001216936112e+09,'run_status','','{"status":"interrupted"}');
INSERT INTO "events" VALUES(1099511627830,1.76000000009959459311e+09,'resumed','','{"changed_inputs":[],"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627831,1.76000000009959459311e+09,'started','0','{"kind":"attempt","n":2,"because":{"new":"information","what":"answer"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627832,1.76000000012970900537e+09,'progressed','0','{"kind":"attempt","n":2,"event":{"type":"said","text":"I am going to paint the door of the hut."}}');
INSERT INTO "events" VALUES(1099511627833,1.76000000012970900537e+09,'progressed','0','{"kind":"attempt","n":2,"event":{"type":"action","name":"saw","arguments":{"what":"paint the door of the hut"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627834,1.76000000012970900537e+09,'progressed','0','{"kind":"attempt","n":2,"event":{"type":"partial","key":"half","value":{"of":"paint the door of the hut","again":true}}}');
INSERT INTO "events" VALUES(1099511627835,1.76000000012970900537e+09,'progressed','0','{"kind":"attempt","n":2,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627836,1.76000000012970900537e+09,'reported','0','{"kind":"attempt","n":2,"usage":{"calls":1},"seconds":0.006544,"report":{"summary":"done","result":{"did":"paint the door of the hut","answer":"green"},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627837,1.76000000012970900537e+09,'decided','0','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627838,1.76000000012970900537e+09,'checked','0','{"kind":"check","n":0,"results":[{"criterion":"done: paint the door of the hut","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627839,1.76000000012970900537e+09,'started','0','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627840,1.76000000013721919064e+09,'lost','0','{"kind":"judge","n":1,"lost":"planner","reason":"The model cannot be reached for JudgeRequest.","seconds":5.9e-05}');
INSERT INTO "events" VALUES(1099511627841,1.76000000013721919064e+09,'settled','0','{"state":"failed","kind":"planner","reason":"The model cannot be reached for JudgeRequest.","resumable":true}');
INSERT INTO "events" VALUES(1099511627842,1.76000000013721919064e+09,'settled','','{"state":"blocked","kind":"planner","reason":"Part 0 is failed and can be taken up again: The model cannot be reached for JudgeRequest.","resumable":true}');
INSERT INTO "events" VALUES(1099511627843,1.76000000013721919064e+09,'run_status','','{"status":"blocked"}');
INSERT INTO "events" VALUES(1099511627844,1.76000000009143662453e+09,'resumed','','{"changed_inputs":[],"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627845,1.76000000009143662453e+09,'reopened','','{"state":"split","redo":"","was":""}');
INSERT INTO "events" VALUES(1099511627846,1.76000000009143662453e+09,'reopened','0','{"state":"pending","redo":"judge","was":"judge"}');
INSERT INTO "events" VALUES(1099511627847,1.76000000009143662453e+09,'started','0','{"kind":"judge","n":2,"because":{"new":"resumed"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627848,1.76000000010968279842e+09,'answer','0','{"kind":"judge","n":2,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":9.9e-05}');
INSERT INTO "events" VALUES(1099511627849,1.76000000010968279842e+09,'decided','0','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627850,1.76000000010968279842e+09,'settled','0','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627851,1.76000000010968279842e+09,'decided','','{"section":"children","rule":0,"kind":"aggregate","condition":"all(\"success\")","next":"integrate","read":{"children":[["0","success"],["1","success"]]}}');
INSERT INTO "events" VALUES(1099511627852,1.76000000010968279842e+09,'started','','{"kind":"integrate","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627853,1.76000000012132048607e+09,'answer','','{"kind":"integrate","n":1,"answer":{"result":{"0":{"did":"paint the door of the hut","answer":"green"},"1":{"did":"nail the sign to the hut","answer":""}},"summary":"put together","checks":{"no_contradiction":{"ok":true,"note":"about no_contradiction"},"interfaces_agree":{"ok":true,"note":"about interfaces_agree"},"goal_met":{"ok":true,"note":"about goal_met"},"nothing_open":{"ok":true,"note":"about nothing_open"},"parts_imply_whole":{"ok":true,"note":"about parts_imply_whole"}},"open":[]},"usage":{"calls":1},"seconds":8.5e-05}');
INSERT INTO "events" VALUES(1099511627854,1.76000000012132048607e+09,'checked','','{"kind":"check","n":0,"results":[{"criterion":"it stands","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627855,1.76000000012132048607e+09,'started','','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627856,1.76000000013587307927e+09,'answer','','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":8.3e-05}');
INSERT INTO "events" VALUES(1099511627857,1.76000000013587307927e+09,'decided','','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627858,1.76000000013587307927e+09,'settled','','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627859,1.76000000013587307927e+09,'run_status','','{"status":"success"}');
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	t FLOAT NOT NULL, 
	"by" TEXT NOT NULL, 
	taken INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	created_t FLOAT NOT NULL, 
	title TEXT NOT NULL, 
	meta TEXT NOT NULL, 
	status TEXT NOT NULL, 
	summary TEXT, 
	seq INTEGER NOT NULL, 
	updated_t FLOAT NOT NULL, 
	epoch INTEGER NOT NULL, 
	host TEXT, 
	pid INTEGER, 
	started FLOAT, 
	token TEXT, 
	claimed_t FLOAT, 
	beat_t FLOAT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'jtw492',1.76000000001370549202e+09,'build the hut of wood','{}','success','{"nodes":3,"calls":12,"tokens":1320,"cost":0.009000000000000001,"elapsed_s":0.207}',83,1.76000000013587307927e+09,4,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
